"""The five questions that users bring, as they ask them, with what Tenure answers."""

import tenure as tn


def dispose():
    """What remains after dispose()?"""
    x = tn.ones((256, 256))
    view = x[0]
    x.dispose()
    print("disposed:", x.is_disposed, "| shape:", x.shape, "| held by:", [str(h.kind) for h in tn.holders(x)])
    view.dispose()
    print("after the view:", tn.memory().bytes, "bytes")


def tensor_disposed():
    """Why 'tensor disposed' here and not there?"""
    with tn.scope("step"):
        x = tn.ones(3)
    try:
        x + 1
    except tn.DisposedError as error:
        print(error)


def which_ops_allocate():
    """Which operations allocate?"""
    a, b, c = tn.ones((64, 64)), tn.ones((64, 64)), tn.ones(64)
    for what, f in [("a.T", lambda: a.T), ("a @ b", lambda: a @ b), ("tanh(a @ b + c)", lambda: tn.tanh(a @ b + c))]:
        f()
        tn.reset_peak()
        before = tn.memory().bytes
        result = f()
        print(f"{what:16} holds {tn.memory().bytes - before} bytes")
        del result


def graph_in_a_loop():
    """Does building a graph in a loop leak? Does applying a model to symbolic tensors?"""
    graph = tn.Graph("model")
    x = graph.placeholder("x", (None, 4))
    model = tn.nn.Sequential(tn.nn.Dense(4, 8), tn.nn.Relu())
    nodes = set()
    for _ in range(100):
        model(x)
        nodes.add(graph.nodes)
    print("nodes after 100 applications:", nodes == {graph.nodes}, "| bytes of constants:", graph.bytes)


def will_it_fit():
    """Will it fit?"""
    step = tn.function(lambda x, w: tn.tanh(x @ w) * 2)
    plan = step.plan(tn.spec((512, 1024)), tn.spec((1024, 256)))
    x, w = tn.ones((512, 1024)), tn.ones((1024, 256))
    step(x, w)
    tn.reset_peak()
    before = tn.memory().bytes
    step(x, w)
    print("predicted == measured:", plan.peak == tn.memory().peak - before)
    try:
        with tn.budget("request", "512 KiB"):
            tn.ones((512, 1024))
    except MemoryError as error:
        print(str(error).splitlines()[0])


for question in (dispose, tensor_disposed, which_ops_allocate, graph_in_a_loop, will_it_fit):
    print(f"\n{question.__doc__}")
    question()
