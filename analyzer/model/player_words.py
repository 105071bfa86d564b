"""Words by which the players of an adversarial training are called, whatever program wrote them."""

from __future__ import annotations

from analyzer.model.name_words import word_set

JUDGES = word_set("d dis disc discr discriminator netd")
MAKERS = word_set("g gen generator netg")
RIVALS = JUDGES | MAKERS | word_set("critic gan adv")
"""Whose losses run away from each other."""
