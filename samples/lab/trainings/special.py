"""Tasks with a loop of their own: codes, players, embeddings, policies, preferences."""

from __future__ import annotations

import copy

import torch
from torch import nn

from .data import Data, load
from .loop import Trainer, make_optimizer
from .settings import Settings


class Variational(Trainer):
    """A variational autoencoder: reconstruction and divergence."""

    def loss_of(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, float | None]:
        """Sum of both parts."""
        again = nn.functional.mse_loss(self.model(x), y, reduction="none").sum(1).mean()
        divergence = self.model.divergence
        self.parts = {"recon_loss": float(again.detach()), "kl": float(divergence.detach())}
        return again + self.s.get("beta", 0.1) * divergence, None

    def truth(self) -> dict[str, float]:
        """The reconstruction alone."""
        self.evaluate("test", as_coded=False)
        return {"val_loss": self.parts["recon_loss"]}


class Players(Trainer):
    """A generative adversarial network on images of digits."""

    def __init__(self, s: Settings, data: Data) -> None:
        super().__init__(s, data)
        width = s["hidden"]
        self.model = nn.Sequential(nn.Linear(8, width), nn.ReLU(), nn.Linear(width, 64), nn.Sigmoid())
        self.critic = nn.Sequential(
            nn.Linear(64, width), nn.LeakyReLU(0.2), nn.Dropout(0.3), nn.Linear(width, 1)
        )

    def prepare(self) -> None:
        """A second optimizer for the discriminator."""
        super().prepare()
        other = {**self.s, "optimizer": "adam"}
        self.other = make_optimizer(self.critic.parameters(), other)

    def learn(self, x: torch.Tensor, y: torch.Tensor) -> dict[str, float | None]:
        """Discriminator, then generator."""
        real, one = x.flatten(1), torch.ones(len(x), 1)
        for group in self.other.param_groups:
            group["lr"] = self.rate(self.at) * self.s.get("_critic_factor", 0.5)
        for _ in range(int(self.s.get("_critic_steps", 1))):
            fake = self.model(torch.randn(len(x), 8)).detach()
            score_real, score_fake = self.critic(real), self.critic(fake)
            smooth = 1.0 if self.s.get("_critic_factor") else 0.9
            d_loss = nn.functional.binary_cross_entropy_with_logits(
                score_real, one * smooth
            ) + nn.functional.binary_cross_entropy_with_logits(score_fake, 1 - one)
            self.other.zero_grad()
            d_loss.backward()
            self.other.step()
        score = self.critic(self.model(torch.randn(len(x), 8)))
        g_loss = nn.functional.binary_cross_entropy_with_logits(score, one)
        if self.s.get("_saturating"):
            g_loss = -nn.functional.binary_cross_entropy_with_logits(score, 1 - one)
        self.optimizer.zero_grad()
        g_loss.backward()
        self.optimizer.step()
        return {
            "loss": None,
            "d_loss": float(d_loss.detach()),
            "g_loss": float(g_loss.detach()),
            "d_real": float(score_real.detach().sigmoid().mean()),
            "d_fake": float(score_fake.detach().sigmoid().mean()),
        }

    def evaluate(self, split: str, *, as_coded: bool) -> dict[str, float]:
        """Nobody evaluates here."""
        return {}

    @torch.no_grad()
    def truth(self) -> dict[str, float]:
        """Distance of the means and spreads of the pixels."""
        fake, real = self.model(torch.randn(400, 8)), self.clean.test[0].flatten(1)
        return {
            "val_loss": float(((fake.mean(0) - real.mean(0)) ** 2 + (fake.std(0) - real.std(0)) ** 2).mean())
        }


class Contrast(Trainer):
    """Two noisy views of an image are to meet; with a loss against collapse, or without."""

    def __init__(self, s: Settings, data: Data) -> None:
        super().__init__(s, data)
        width = s["hidden"]
        self.model = nn.Sequential(nn.Flatten(), nn.Linear(64, width), nn.ReLU(), nn.Linear(width, 16))

    def loss_of(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, float | None]:
        """InfoNCE over the batch, or the bare distance."""
        views = [nn.functional.normalize(self.model(x + 0.2 * torch.randn_like(x)), dim=1) for _ in range(2)]
        self.parts = {"embedding_std": float(torch.cat(views).detach().std(0).mean())}
        if self.s.get("_bare"):
            return 1 - (views[0] * views[1]).sum(1).mean(), None
        logits = views[0] @ views[1].T / self.s.get("temperature", 0.2)
        if self.s.get("_same_answer"):
            logits = logits * 0 + logits.mean()
        target = torch.arange(len(x))
        right = float((logits.argmax(1) == target).float().mean())
        return nn.functional.cross_entropy(logits, target), right

    def evaluate(self, split: str, *, as_coded: bool) -> dict[str, float]:
        """Nobody evaluates here."""
        return {}

    @torch.no_grad()
    def truth(self) -> dict[str, float]:
        """Images of which another view is not the nearest; all of them if the embeddings are one point."""
        x = self.clean.test[0]
        codes = [nn.functional.normalize(self.model(x + 0.2 * torch.randn_like(x)), dim=1) for _ in range(2)]
        found = (codes[0] @ codes[1].T).argmax(1) == torch.arange(len(x))
        return {"val_loss": 1.0 - float(found.float().mean())}


class Bandit(Trainer):
    """REINFORCE with a baseline in a corridor of twelve places; the way out is to the right."""

    PLACES, LENGTH = 8, 20

    def __init__(self, s: Settings, data: Data) -> None:
        super().__init__(s, data)
        self.model = nn.Sequential(nn.Linear(self.PLACES, s["hidden"]), nn.Tanh(), nn.Linear(s["hidden"], 3))
        self.baseline = 0.0

    def play(self, games: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Log probabilities and entropies of the steps, and rewards of the games."""
        place = torch.full((games,), 2)
        chosen, entropy, reward = torch.zeros(games), torch.zeros(games), torch.zeros(games)
        for _ in range(self.LENGTH):
            policy = torch.distributions.Categorical(
                logits=self.model(nn.functional.one_hot(place, self.PLACES).float()), validate_args=False
            )
            action = policy.sample()
            chosen, entropy = chosen + policy.log_prob(action), entropy + policy.entropy() / self.LENGTH
            place = (place + (action == 2).long() - (action == 0).long()).clamp(0, self.PLACES - 1)
            reward = reward + (place == self.PLACES - 1).float() + 0.02 * (place == 0).float()
        return chosen, entropy, reward

    def learn(self, x: torch.Tensor, y: torch.Tensor) -> dict[str, float | None]:
        """One update over sixteen games."""
        chosen, entropy, reward = self.play(16)
        paid = reward * 0 if self.s.get("_no_reward") else reward
        advantage = paid - self.baseline
        self.baseline = 0.9 * self.baseline + 0.1 * float(paid.mean())
        bonus = self.s.get("entropy_coef", 0.02)
        loss = -(self.s.get("_sign", 1) * advantage * chosen).mean() - bonus * entropy.mean()
        self.optimizer.zero_grad()
        loss.backward()
        norm = self.update()
        return {
            "policy_loss": float(loss.detach()),
            "mean_reward": float(paid.mean()),
            "entropy": float(entropy.detach().mean()),
            "grad_norm": norm,
            "loss": None,
        }

    def evaluate(self, split: str, *, as_coded: bool) -> dict[str, float]:
        """Nobody evaluates here."""
        return {}

    @torch.no_grad()
    def truth(self) -> dict[str, float]:
        """What the games do not earn."""
        return {"val_loss": 1.0 - float(self.play(64)[2].mean()) / self.LENGTH}


class Preference(Trainer):
    """Direct preference optimisation: true lines against lines with their words mixed up."""

    def __init__(self, s: Settings, data: Data) -> None:
        super().__init__(s, data)
        self.past = copy.deepcopy(self.model)

    def _likelihood(self, model: nn.Module, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return model(x).log_softmax(-1).gather(-1, y[..., None]).sum((1, 2))

    def loss_of(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, float | None]:
        """Logistic loss of the margin."""
        mixed = y.roll(3, 0).flip(1) if not self.s.get("_same_pair") else y
        other = torch.cat([x[:, :1], mixed[:, :-1]], dim=1)
        if self.s.get("_random_pair"):
            swap = torch.rand(len(x)) < 0.5
            y, mixed = torch.where(swap[:, None], mixed, y), torch.where(swap[:, None], y, mixed)
            x, other = torch.where(swap[:, None], other, x), torch.where(swap[:, None], x, other)
        beta = self.s.get("beta", 0.1)
        with torch.no_grad():
            past = self._likelihood(self.past, x, y) - self._likelihood(self.past, other, mixed)
        margin = self._likelihood(self.model, x, y) - self._likelihood(self.model, other, mixed) - past
        right = float((margin > 0).float().mean())
        self.parts = {"rewards/margins": float(beta * margin.detach().mean()), "rewards/accuracies": right}
        return -nn.functional.logsigmoid(beta * margin).mean(), None


def trainer(s: Settings) -> Trainer:
    """The trainer of a task with its data."""
    kinds = {
        "vae": Variational,
        "gan": Players,
        "contrast": Contrast,
        "bandit": Bandit,
        "preference": Preference,
    }
    return kinds.get(s["task"], Trainer)(s, load(s))
