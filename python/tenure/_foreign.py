"""Names of other frameworks: asking for one says what it is called here.

They are no attributes: hasattr() is false for each of them, so that code which looks before it calls is not misled.
"""

FUNCTIONS = {
    "Module": "tn.nn.Layer", "arccos": "tn.acos", "arcsin": "tn.asin", "arctan": "tn.atan", "arctan2": "tn.atan2",
    "array": "tn.tensor", "as_tensor": "tn.asarray", "autograd": "tn.GradientTape", "cat": "tn.concat",
    "clip": "tn.clamp", "clip_by_value": "tn.clamp", "compile": "tn.function", "concatenate": "tn.concat",
    "constant": "tn.tensor", "convert_to_tensor": "tn.asarray", "copy": "tn.clone",
    "cuda": 'x.to("cuda:0") and tn.device("cuda:0"); tn.gpus() lists them, tn.memory("cuda:0") counts their bytes',
    "device_put": "x.to(device)", "fftn": "tn.fft for each axis, or tn.fft2", "fill": "tn.full", "from_numpy": "tn.asarray",
    "identity": "tn.eye, or tn.clone", "inference_mode": "nothing: what no tape watches is not recorded",
    "jit": "tn.function", "linalg": "tn itself: tn.solve, tn.norm, tn.svd", "load": "tn.nn.load_weights",
    "manual_seed": "tn.seed", "newaxis": "None", "no_grad": "nothing: what no tape watches is not recorded",
    "numel": "x.size", "placeholder": "graph.placeholder(name, shape) of a tn.Graph", "optim": "tn.nn: tn.nn.Adam", "rand": "tn.uniform(shape)", "randn": "tn.normal(shape)",
    "random": "tn itself: tn.seed, tn.uniform, tn.normal, tn.Generator", "randperm": "tn.permutation",
    "range": "tn.arange", "ravel": "tn.flatten", "reduce_max": "tn.max", "reduce_mean": "tn.mean",
    "reduce_sum": "tn.sum", "save": "tn.nn.save_weights", "swapaxes": "tn.transpose", "unsqueeze": "tn.expand_dims",
    "vmap": "not here; ops broadcast, and tn.scan goes along an axis",
}

LAYERS = {
    "BatchNorm1d": "tn.nn.BatchNorm", "BatchNorm2d": "tn.nn.BatchNorm", "BatchNormalization": "tn.nn.BatchNorm",
    "BCEWithLogitsLoss": "the function tn.binary_cross_entropy_with_logits",
    "Conv2D": "tn.nn.Conv2d", "CrossEntropyLoss": "the function tn.cross_entropy",
    "GELU": "tn.nn.Gelu", "LayerNormalization": "tn.nn.LayerNorm", "Linear": "tn.nn.Dense",
    "MSELoss": "the function tn.mse_loss", "MaxPooling2D": "tn.nn.MaxPool2d", "Module": "tn.nn.Layer",
    "ModuleList": "a list of layers, as an attribute", "MultiheadAttention": "tn.nn.MultiHeadAttention",
    "RMSNorm": "tn.nn.RmsNorm", "RMSprop": "tn.nn.Rmsprop", "ReLU": "tn.nn.Relu", "SGD": "tn.nn.Sgd",
    "SiLU": "tn.nn.Silu", "functional": "tn itself: tn.relu, tn.cross_entropy",
}

METHODS = {
    "add_": "x += y", "backward": "tape.gradient(loss, sources) of a tn.GradientTape", "bool": 'x.cast("bool")',
    "clip": "x.clamp(low, high)", "cpu": 'x.to("cpu")', "cuda": 'x.to("cuda:0")',
    "detach": "tn.stop_gradient(x)", "double": 'x.cast("float64")', "element_size": "x.itemsize",
    "expand": "x.broadcast_to(shape)", "fill_": "x[...] = value", "float": 'x.cast("float32")',
    "grad": "what tape.gradient(loss, x) gives", "half": 'x.cast("float16")', "int": 'x.cast("int32")',
    "long": 'x.cast("int64")', "mul_": "x *= y", "numel": "x.size", "ravel": "x.flatten()",
    "requires_grad": "tape.watch(x)", "requires_grad_": "tape.watch(x)", "swapaxes": "x.transpose(a, b)",
    "unsqueeze": "x.expand_dims(axis)", "view": "x.reshape(shape)",
    "zero_": "x[...] = 0",
}


class Foreign:
    """An attribute of a class that others have: to ask for it is an AttributeError that says what to write."""

    def __init__(self, name, here):
        self.name, self.here = name, here

    def __get__(self, owner, kind=None):
        raise AttributeError(f"a tensor has no '{self.name}'; here it is {self.here}")


def missing(module, names):
    """The `__getattr__` of a module whose users look for these names."""

    def __getattr__(name):
        told = f"; here it is {names[name]}" if name in names else ""
        raise AttributeError(f"module '{module}' has no attribute '{name}'{told}")

    return __getattr__
