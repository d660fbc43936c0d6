"""Threads of Python's that share tensors."""

import gc
import sys
import threading
import time
import unittest

import numpy as np

import tenure as tn
from support import TestCase


class Threads(TestCase):
    def test_share_tensors(self):
        x = tn.ones((256, 256))
        errors = []

        def work():
            try:
                for _ in range(20):
                    y = tn.tanh(x @ x + 1)
                    array = tn.tensor(np.ones(30000, "float32"))
                    (array + 1).numpy()
                    del y
            except Exception as error:
                errors.append(error)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            gc.collect()
        for thread in threads:
            thread.join()
        self.assertEqual(errors, [])

    def test_handles_may_change_while_others_compute(self):
        """x += 1 and donate(x) on one thread, products of x on others."""
        x, errors, stop = tn.ones((200, 200)), [], threading.Event()

        def read():
            while not stop.is_set():
                try:
                    for y in (x @ x, x + x, tn.exp(x), tn.concat([x, x])):
                        y.shape
                except tn.EmptyTensorError:
                    pass  # it was donated just then
                except Exception as error:
                    errors.append(error)

        threads = [threading.Thread(target=read) for _ in range(3)]
        for thread in threads:
            thread.start()
        for _ in range(200):
            x += 1
            x[0] = 1.0
            try:
                x = tn.mul(tn.donate(x), 0.5)
            except tn.DonationError:
                pass  # another thread had it in hand
        stop.set()
        for thread in threads:
            thread.join()
        self.assertEqual(errors, [])

    def test_large_ops_let_others_run(self):
        """While a product is computed, another thread counts."""
        x = tn.ones((768, 768))
        count, stop = [0], threading.Event()

        def counter():
            while not stop.is_set():
                count[0] += 1
                time.sleep(0)  # gives the lock up, and gets it when the other thread does

        previous = sys.getswitchinterval()
        sys.setswitchinterval(100)  # nobody is made to give the lock up
        thread = threading.Thread(target=counter)
        try:
            thread.start()
            # It may have no core while one product is computed, which takes a millisecond or two.
            before = count[0]
            for _ in range(1000):
                y = x @ x
                if count[0] > before:
                    break
            self.assertGreater(count[0], before)
        finally:
            stop.set()
            sys.setswitchinterval(previous)
            thread.join()
        del y


if __name__ == "__main__":
    unittest.main()
