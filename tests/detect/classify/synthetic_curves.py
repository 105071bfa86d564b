"""Curves of one kind of trouble each, and the features of a run made of them."""

import numpy as np
from make_run import RunMaker

from analyzer.detect.base import RunView
from analyzer.detect.shapes.features import FEATURES, features

INDEX = {feature.name: index for index, feature in enumerate(FEATURES)}
POINTS = 400


class Curves:
    """Columns of a run over ``POINTS`` steps, healthy until a test changes them."""

    def __init__(self, seed=0, points=POINTS):
        random = np.random.default_rng(seed)
        self.random, self.points = random, points
        self.share = np.linspace(0.0, 1.0, points)
        self.loss = (1.5 + 1.5 * np.exp(-5 * self.share)) * (1 + 0.03 * random.standard_normal(points))
        self.grad_norm = (1 + np.exp(-5 * self.share)) * np.exp(0.2 * random.standard_normal(points))
        self.learning_rate = (
            1e-3 * np.minimum(1, self.share / 0.05 + 1e-3) * 0.5 * (1 + np.cos(np.pi * self.share))
        )
        self.step_time_s = 0.2 * np.exp(0.03 * random.standard_normal(points))
        self.data_time_s = np.full(points, 0.01)
        self.eval_loss = (1.55 + 1.5 * np.exp(-5 * np.linspace(0.05, 1, 20))) * (
            1 + 0.004 * random.standard_normal(20)
        )

    def columns(self):
        return {
            name: getattr(self, name)
            for name in ("loss", "grad_norm", "learning_rate", "step_time_s", "data_time_s")
        }

    def maker(self, *, every=1, drop=(), names=None, factor=1.0, first=1, stretch=1, frameworks=()):
        """The run, optionally logged at every n-th step, under other names, with other steps, or scaled."""
        names = names or {}
        out = RunMaker(*frameworks)
        steps = [first + stretch * i for i in range(self.points)]
        for name, values in self.columns().items():
            if name not in drop:
                scaled = values * factor if name == "loss" else values
                out.log({names.get(name, name): scaled[::every]}, steps=steps[::every])
        if "eval_loss" not in drop:
            gap = self.points // self.eval_loss.size
            marks = [steps[gap * (i + 1) - 1] for i in range(self.eval_loss.size)]
            evals = {names.get("eval_loss", "eval_loss"): self.eval_loss * factor}
            out.log(evals, path="eval.log", steps=marks)
        return out

    def vector(self, **how):
        return features(RunView(self.maker(**how).run()))

    def features(self, **how):
        return dict(zip(INDEX, self.vector(**how), strict=True))


def vector_of(maker):
    return features(RunView(maker.run()))
