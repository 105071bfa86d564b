"""Facts of a run that is given as columns of its log, by steps or by epochs."""

from __future__ import annotations

from make_run import RunMaker


def facts(columns, held_out=None, **config):
    maker = RunMaker("lightning").log(columns)
    if held_out:
        maker.log(held_out)
    return maker.config(**config).plain() if config else maker.plain()


def by_epoch(losses, **more):
    count = len(losses)
    columns = {"loss": losses, "epoch": [float(n + 1) for n in range(count)], **more}
    return facts(columns)
