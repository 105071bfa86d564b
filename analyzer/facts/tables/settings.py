"""Facts about exceptions, about settings that contradict one another, and about work that was lost."""

from __future__ import annotations

from analyzer.facts.tables.hows import USER_CONFIG

_SAVED = "keep the lines that report saved checkpoints"
_ECHO = "keep the program's own print of its arguments beside the configuration file"
_SCRIPT = "put the training script beside the log"

TABLE = f"""
exception.own | bool | | some exception is more than a report of lost peers or of another process that failed |
exception.ended_run | bool | | an exception ended the run; false if training went on after every one |
exception.type | str | | type of that exception, or of the last one that was survived |
exception.message | str | | its message |
exception.misuse | bool | | its message is one with which a library refuses the arguments of a call |
exception.at | str | | whose code raised it: own code, installed package, standard library, compiled extension, import system | keep the whole traceback
exception.environment | bool | | class or message names what a program stands on: memory, a host, a disk, a device, a runtime, a peer |
exception.missing_in | str | | where an import misses a name: own code, or installed package |
exception.api_clash | bool | | one installed package calls another with arguments or names that it does not have |
exception.handshake | bool | | a child process was lost, or its parent, while it was being started |
exception.name_gone | bool | | a library of wide use lacks a name that the program asks it for |
exception.place | str | | file, line and function of the last frame in the run's own code | keep the whole traceback
exception.phase | str | | what the program was doing, by the functions on the stack | keep the whole traceback
exception.plain | bool | | it came first, and nothing more specific is known of its message |
config.conflict.key | str | | a setting that a file asks for and the program echoes with another value | {_ECHO}
config.conflict.asked | float | | value that the file asks for | {_ECHO}
config.conflict.used | float | | value that the program echoes | {_ECHO}
config.learning_rate_exceeded | bool | | the logged learning rate rises above the one asked for | {USER_CONFIG}
config.train.rate_over_schedule | float | | learning rate for one image, over that of the framework's own schedules | {USER_CONFIG}
config.lora.alpha_over_rank | float | | scale of the adapter: lora_alpha divided by its rank | {USER_CONFIG}
config.model.ties_embeddings | bool | | input and output embeddings share their weights | {USER_CONFIG}
config.script.mismatch | str | | loss and last layer that fit no data together, in words; empty if they fit | {_SCRIPT}
config.script.too_few_outputs | bool | | the last layer has fewer outputs than the data set has classes | {_SCRIPT}
config.script.unscaled_inputs | bool | | the script reads images or a table and scales nothing | {_SCRIPT}
config.script.keeps_order | bool | | the loader of the training data, or fit, keeps the order of the data | {_SCRIPT}
config.script.keeps_gradients | bool | | nothing clears the gradients between two steps | {_SCRIPT}
config.script.keeps_graph | bool | | the loop holds each loss with its graph, not its number | {_SCRIPT}
config.script.validation_is_the_end | bool | | validation_split takes the last samples, and nothing shuffles them before | {_SCRIPT}
config.tf32 | bool | | tf32 was asked for, or switched off, by name | {USER_CONFIG}
config.versions_differ | bool | | lists of packages of several nodes or ranks disagree | put pip freeze of every node beside the logs
config.versions_differ_in | str | | a package that differs, with its versions | put pip freeze of every node beside the logs
signal.saved_work.last_step | int | step | step of the last checkpoint before a failure | {_SAVED}
signal.saved_work.lost_steps | int | steps | steps made since that checkpoint | {_SAVED}
signal.saved_work.interval_steps | int | steps | median distance of the checkpoints | {_SAVED}
signal.saved_work.lost_hours | float | h | time that those steps had taken | {_SAVED}
"""
