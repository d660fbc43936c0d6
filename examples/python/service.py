"""An inference service: threads that share a model, a budget for each request, one for the process.

    service.py [REQUESTS]

A request that asks for too much is refused, and told why; it takes nothing from the others, and when all are
served, not one byte is left.
"""

import queue
import sys
import threading

import tenure as tn

REQUESTS = int(sys.argv[1]) if len(sys.argv) > 1 else 64
WORKERS, ROWS = 4, 16

tn.seed(1)
model = tn.nn.Sequential(tn.nn.Dense(64, 256), tn.nn.Relu(), tn.nn.Dense(256, 10))
model.eval()


@tn.function
def predict(x):
    return tn.softmax(model(x))


# What a request of the usual size takes is known before there is one. It must hold the input, too.
need = predict.plan(tn.spec((ROWS, 64))).peak + ROWS * 64 * 4
print("a request takes", need, "bytes")

requests, answers, lock = queue.Queue(), {}, threading.Lock()


def serve():
    while (job := requests.get()) is not None:
        number, rows = job
        try:
            with tn.budget(f"request {number}", need):
                x = tn.full((rows, 64), 0.01 * number)
                answer = predict(x).argmax(1).tolist()  # numbers leave, tensors do not
                del x
        except tn.OutOfMemory as error:
            answer = error
        with lock:
            answers[number] = answer


predict(tn.ones((ROWS, 64)))  # traced once, ahead of the first request
warm = tn.memory().bytes
workers = [threading.Thread(target=serve) for _ in range(WORKERS)]
for worker in workers:
    worker.start()
for number in range(REQUESTS):
    requests.put((number, 4096 if number % 16 == 7 else ROWS))  # now and then somebody asks for the moon
for _ in workers:
    requests.put(None)
for worker in workers:
    worker.join()

refused = {n: a for n, a in answers.items() if isinstance(a, tn.OutOfMemory)}
print(len(answers), "answers,", len(refused), "refused:", sorted(refused))
print(str(refused[7]).splitlines()[0])
print("each of the others has", {len(a) for n, a in answers.items() if n not in refused}, "rows")
print("bytes left by", REQUESTS, "requests:", tn.memory().bytes - warm)
