#!/usr/bin/env python3
"""A small training job in plain Python: two spirals, a network with one hidden layer, gradient descent.

Worker processes make the batches while the main process learns from them, as data loaders do. Prints the loss of each
epoch and the accuracy on points not seen before. Takes a few seconds.
"""
import argparse
import math
import multiprocessing
import random

HIDDEN = 20
BATCH = 64


def point(generator):
    """A noisy point on one of two spirals, as features, and which spiral it is on."""
    label = generator.randrange(2)
    turn = generator.random() * 2 * math.pi + 0.5
    angle = turn + label * math.pi
    x = turn / 4 * math.cos(angle) + generator.gauss(0, 0.08)
    y = turn / 4 * math.sin(angle) + generator.gauss(0, 0.08)
    return [x, y, x * y, x * x - y * y], label


def load(seed, batches, queue):
    """A data-loading worker: put that many batches into the queue."""
    generator = random.Random(seed)
    for _ in range(batches):
        queue.put([point(generator) for _ in range(BATCH)])


class Network:
    def __init__(self, inputs):
        generator = random.Random(1)
        self.hidden = [[generator.gauss(0, 0.7) for _ in range(inputs + 1)] for _ in range(HIDDEN)]
        self.output = [generator.gauss(0, 0.7) for _ in range(HIDDEN + 1)]

    def forward(self, features):
        active = [math.tanh(sum(w * x for w, x in zip(row, features)) + row[-1]) for row in self.hidden]
        score = sum(w * a for w, a in zip(self.output, active)) + self.output[-1]
        return active, 1 / (1 + math.exp(-max(-30.0, min(30.0, score))))

    def learn(self, batch, rate):
        """One step down the gradient, point by point; the mean loss of the batch."""
        loss = 0.0
        for features, label in batch:
            active, chance = self.forward(features)
            loss -= math.log(max(1e-12, chance if label else 1 - chance))
            slope = chance - label
            for j, a in enumerate(active):
                back = slope * self.output[j] * (1 - a * a)
                self.output[j] -= rate * slope * a
                row = self.hidden[j]
                for i, x in enumerate(features):
                    row[i] -= rate * back * x
                row[-1] -= rate * back
            self.output[-1] -= rate * slope
        return loss / len(batch)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--batches", type=int, default=150, help="batches in an epoch")
    parser.add_argument("--workers", type=int, default=2)
    arguments = parser.parse_args()

    queue = multiprocessing.Queue(maxsize=8)
    each = -(-arguments.epochs * arguments.batches // arguments.workers)
    workers = [multiprocessing.Process(target=load, args=(seed, each, queue), daemon=True)
               for seed in range(arguments.workers)]
    for worker in workers:
        worker.start()
    network = Network(4)
    for epoch in range(1, arguments.epochs + 1):
        losses = [network.learn(queue.get(), 0.02) for _ in range(arguments.batches)]
        print(f"epoch {epoch}: loss {sum(losses) / len(losses):.4f}", flush=True)

    generator = random.Random(99)
    unseen = [point(generator) for _ in range(1000)]
    right = sum((network.forward(features)[1] > 0.5) == bool(label) for features, label in unseen)
    print(f"accuracy on unseen points: {right / len(unseen):.1%}")
    for worker in workers:
        worker.terminate()


if __name__ == "__main__":
    main()
