"""Where operators find their operands: what a code object's bytecode says, for `sites.cpp`.

`x + y` may compute in the memory of x if x is a temporary: if the stack of the running frame has the
only reference to it. Which place of the stack that is follows from the bytecode.
"""

import sys

GENERATORS = 0x20 | 0x80 | 0x200
# Where the first instruction of a generator finds a value that was sent, which nothing has pushed before.
FINDS_A_SENT_VALUE = (3, 10) <= sys.version_info[:2] <= (3, 12)


def stack_depths(code):
    """How many values are on the stack before each instruction that can be reached, by offset."""
    import dis  # not before it is needed: it takes some milliseconds

    instructions = list(dis.get_instructions(code))
    following = {a.offset: b.offset for a, b in zip(instructions, instructions[1:])}
    by_offset = {i.offset: i for i in instructions}
    depths = {}
    pending = [(0, 1 if FINDS_A_SENT_VALUE and code.co_flags & GENERATORS else 0)]
    if sys.version_info >= (3, 11):  # before, what begins a block jumps to its handler
        # A handler begins with what its block had, where it was asked for, and the exception.
        pending += [(e.target, e.depth + e.lasti + 1) for e in dis._parse_exception_table(code)]
    while pending:
        offset, depth = pending.pop()
        if offset in depths:
            continue
        depths[offset] = depth
        at = by_offset[offset]
        argument = at.arg if at.opcode >= dis.HAVE_ARGUMENT else None
        if at.opcode in dis.hasjrel or at.opcode in dis.hasjabs:
            pending.append((at.argval, depth + dis.stack_effect(at.opcode, argument, jump=True)))
        if at.opname not in ENDS and offset in following:
            pending.append((following[offset], depth + dis.stack_effect(at.opcode, argument, jump=False)))
    return depths


ENDS = {
    "RETURN_VALUE",
    "RETURN_CONST",
    "RAISE_VARARGS",
    "RERAISE",
    "JUMP_ABSOLUTE",
    "JUMP_FORWARD",
    "JUMP_BACKWARD",
    "JUMP_BACKWARD_NO_INTERRUPT",
}
ARITHMETIC = "ADD SUBTRACT MULTIPLY MATRIX_MULTIPLY TRUE_DIVIDE FLOOR_DIVIDE MODULO POWER LSHIFT RSHIFT AND OR XOR"
BINARY = {"BINARY_OP", "COMPARE_OP"} | {f"{kind}_{name}" for kind in ("BINARY", "INPLACE") for name in ARITHMETIC.split()}
UNARY = {"UNARY_NEGATIVE", "UNARY_INVERT"}


def operand_places(code):
    """For each instruction, what set_operand_finder() of sites.h says."""
    import dis

    places = [-1] * (len(code.co_code) // 2)
    names = {i.offset: i.opname for i in dis.get_instructions(code)}
    for offset, depth in stack_depths(code).items():
        if names[offset] in BINARY:
            places[offset // 2] = 2 * (depth - 2) + 1
        elif names[offset] in UNARY:
            places[offset // 2] = 2 * (depth - 1)
    return places


IS_KNOWN = sys.implementation.name == "cpython" and (3, 9) <= sys.version_info[:2] <= (3, 13)
