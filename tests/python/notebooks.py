"""Runs notebooks without Jupyter, and compares or refreshes the outputs that they hold.

usage: notebooks.py check FILE...      what differs between outputs that are stored and those of a run
       notebooks.py refresh FILE...    runs notebooks and stores their outputs

The package must be found: PYTHONPATH=build/release/python. Each notebook runs in a process of its own, cell
by cell in one namespace; the line n of cell i is `In[i]:n`. What a cell prints, and what its last expression
shows (repr() and `_repr_html_`), are its outputs. A cell with the tag raises-exception must raise, and no
other may.
"""

import ast
import contextlib
import difflib
import io
import json
import subprocess
import sys
from pathlib import Path

TIMEOUT_SECONDS = 120


def lines_of(text):
    return text.splitlines(keepends=True)


def shown(value):
    """What a notebook shows of a value: {type: lines}."""
    data = {"text/plain": lines_of(repr(value))}
    html = getattr(value, "_repr_html_", lambda: None)()
    if html is not None:
        data["text/html"] = lines_of(html)
    return data


def run_cell(code, number, namespace):
    """Executes a cell; its outputs, as nbformat has them."""
    tree = ast.parse(code, f"In[{number}]")
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed, outputs, value, error = io.StringIO(), [], None, None
    with contextlib.redirect_stdout(printed):
        try:
            exec(compile(tree, f"In[{number}]", "exec"), namespace)
            if last is not None:
                value = eval(compile(ast.Expression(last.value), f"In[{number}]", "eval"), namespace)
        except Exception as raised:
            error = raised
    if printed.getvalue():
        outputs.append({"output_type": "stream", "name": "stdout", "text": lines_of(printed.getvalue())})
    if error is not None:
        name = type(error).__name__
        outputs.append({"output_type": "error", "ename": name, "evalue": str(error),
                        "traceback": [f"{name}: {error}"]})
    elif value is not None:
        outputs.append({"output_type": "execute_result", "execution_count": number, "metadata": {}, "data": shown(value)})
    return outputs


def run_here(path):
    """The notebook with the outputs of a run in this process."""
    notebook = json.loads(Path(path).read_text(encoding="utf-8"))
    namespace, number = {"__name__": "__main__"}, 0
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            number += 1
            cell["execution_count"] = number
            cell["outputs"] = run_cell("".join(cell["source"]), number, namespace)
    return notebook


def run(path):
    """The same in a process of its own. Raises RuntimeError if that ends badly."""
    done = subprocess.run([sys.executable, "-B", __file__, "run", str(path)], capture_output=True, text=True,
                          timeout=TIMEOUT_SECONDS)
    if done.returncode != 0:
        raise RuntimeError(f"{path}: {done.stderr}")
    return json.loads(done.stdout)


def text_of(notebook):
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def unexpected_error(notebook):
    """The first cell that raises and should not, or does not and should; None if there is none."""
    for cell in notebook["cells"]:
        if cell["cell_type"] != "code":
            continue
        should = "raises-exception" in cell["metadata"].get("tags", [])
        errors = [output for output in cell["outputs"] if output["output_type"] == "error"]
        if errors and not should:
            return f"In[{cell['execution_count']}] raises {errors[0]['traceback'][0]}"
        if should and not errors:
            return f"In[{cell['execution_count']}] does not raise"
    return None


def check(path):
    """What is wrong, as lines; none if the outputs are those of a run."""
    fresh = run(path)
    if problem := unexpected_error(fresh):
        return [problem]
    stored = Path(path).read_text(encoding="utf-8")
    return list(difflib.unified_diff(stored.splitlines(), text_of(fresh).splitlines(), "stored", "of a run", lineterm=""))


def main(arguments):
    command, *paths = arguments or [""]
    if command == "run":
        print(json.dumps(run_here(paths[0])))
    elif command == "refresh":
        for path in paths:
            fresh = run(path)
            if problem := unexpected_error(fresh):
                sys.exit(f"{path}: {problem}")
            Path(path).write_text(text_of(fresh), encoding="utf-8")
    elif command == "check":
        problems = [line for path in paths for line in check(path)]
        print(*problems, sep="\n", end="\n" if problems else "")
        return 1 if problems else 0
    else:
        sys.exit(__doc__)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
