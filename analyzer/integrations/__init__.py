"""At home in trainers: a diagnosis beside the run when training ends badly. Importing this needs no trainer.

from analyzer.integrations import trainer_callback

transformers.Trainer(..., callbacks=[trainer_callback()])
lightning.Trainer(..., callbacks=[lightning_callback()])
accelerate.Accelerator(log_with=[accelerate_tracker("out")])
"""

from __future__ import annotations

from analyzer.integrations.trainers import accelerate_tracker, lightning_callback, trainer_callback

__all__ = ["accelerate_tracker", "lightning_callback", "trainer_callback"]
