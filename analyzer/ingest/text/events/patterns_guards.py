"""Lines by which trainers of speech, vision and older language models guard against values that are not finite.

(ctc:74) WARNING: 1/2 samples got nan grad. These were ignored for CTC loss.            ESPnet 2
(e2e_asr:302) WARNING: loss (=nan) is not correct                                       ESPnet 1
Exception: Skipped 50 iterations in a row due to Overflow - Exiting training.           GPT-NeoX
RuntimeError:  [!] NaN loss with decoder_loss.                                          Mozilla and Coqui TTS
Found NaN, decreased lg_loss_scale to 16.5                                              guided-diffusion
| WARNING: overflow detected, setting loss scale to: 0.25                               fairseq before 0.9
Found inf or nan, current scale is: 32768.0, decrease to: 32768.0*0.5                   Paddle's GradScaler
Loss scaler reducing loss scale to 512.0                                                apex on Ascend
[WARNING] overflow, drop the step, loss scale adjust to 1024.0                          MindYOLO
NaN/Inf percentage 0.50 in 10 gradient updates, reducing cost-scaling factor to 128     Marian
"""

from __future__ import annotations

from analyzer.ingest.text.events.patterns import NUMBER, Pattern

GUARDS_PATTERNS: tuple[Pattern, ...] = (
    # The CTC loss is infinite, and its gradient NaN, where a target is longer than its input.
    Pattern(
        "ctc_impossible",
        "symptom",
        (" samples got nan grad. These were ignored for CTC loss",),
        r"(?P<samples>\d{1,9})/(?P<batch>\d{1,9}) samples got nan grad\. These were ignored for CTC loss",
        {"samples": "int", "batch": "int"},
    ),
    Pattern(
        "ctc_impossible",
        "symptom",
        ("All samples in this mini-batch got nan grad",),
        r"All samples in this mini-batch got nan grad\. Returning nan value instead of CTC loss",
    ),
    Pattern(
        "ctc_impossible",
        "symptom",
        (") is not correct",),
        rf"WARNING: loss \(=(?P<value>{NUMBER}|-?nan|-?inf)\) is not correct",
    ),
    Pattern(
        "gradient_skipped",
        "symptom",
        ("Do not update model",),
        r"grad norm is (?P<value>\S{1,20})\. Do not update model",
    ),
    Pattern(
        "nonfinite_gradient_stop",
        "root_candidate",
        ("The gradients at all steps are invalid in this epoch",),
        r"The gradients at all steps are invalid in this epoch\.",
    ),
    Pattern(
        "loss_scale_minimum",
        "root_candidate",
        (" iterations in a row due to Overflow",),
        r"Skipped (?P<skipped>\d{1,9}) iterations in a row due to Overflow",
        {"skipped": "int"},
    ),
    Pattern(
        "loss_scale_overflow",
        "symptom",
        ("overflow detected, setting loss scale to: ",),
        rf"(?:WARNING|NOTE): overflow detected, setting loss scale to: (?P<reducing_to>{NUMBER})",
        {"reducing_to": "float"},
    ),
    Pattern(
        "loss_scale_overflow",
        "symptom",
        ("Found inf or nan, current scale is: ",),
        rf"Found inf or nan, current scale is: (?P<attempted>{NUMBER}), decrease to: ",
        {"attempted": "float"},
    ),
    # Marian counts over a window of updates, and goes on.
    Pattern(
        "loss_scale_overflow",
        "symptom",
        ("NaN/Inf percentage ",),
        rf"NaN/Inf percentage {NUMBER} in \d{{1,9}} gradient updates, "
        rf"(?:but cost-scaling factor (?P<attempted>{NUMBER}) is already at minimum|reducing cost-scaling factor to (?P<reducing_to>{NUMBER}))",
        {"attempted": "float", "reducing_to": "float"},
    ),
    # The line "Gradient overflow. Skipping step" before it tells no scale, so the two count once.
    Pattern(
        "loss_scale_overflow",
        "symptom",
        ("Loss scaler reducing loss scale to ",),
        rf"Loss scaler reducing loss scale to (?P<reducing_to>{NUMBER})",
        {"reducing_to": "float"},
    ),
    Pattern(
        "loss_scale_overflow",
        "symptom",
        ("overflow, drop the step, loss scale adjust to ",),
        rf"overflow, drop the step, loss scale adjust to (?P<reducing_to>{NUMBER})",
        {"reducing_to": "float"},
    ),
    # The scale is printed as its logarithm, so no number is taken from it.
    Pattern(
        "loss_scale_overflow",
        "symptom",
        ("Found NaN, decreased lg_loss_scale to ",),
        rf"Found NaN, decreased lg_loss_scale to {NUMBER}",
    ),
    Pattern(
        "nan_stop",
        "root_candidate",
        ("[!] NaN loss with ",),
        r"\[!\] NaN loss with (?P<where>\w{1,60})\.",
    ),
)
