"""The command under test, and the program that it is tried on."""

import os
import subprocess

COMMAND = os.environ.get("TENURE_COMMAND", "tenure")
GPT = os.environ.get("TENURE_GPT")  # an example; None: those were not built
PROGRAM = os.environ.get("TENURE_PROGRAM", "program")


def run(*arguments, **environment):
    variables = {k: v for k, v in os.environ.items() if not k.startswith("TENURE_PROFILE")}
    variables.update({"COLUMNS": "100", **environment})
    return subprocess.run([COMMAND, *arguments], capture_output=True, text=True, env=variables)
