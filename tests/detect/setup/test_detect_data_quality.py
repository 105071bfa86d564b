"""What a run shows of its data and of the weights it began with."""

import pytest
from make_run import RunMaker, falling


def test_a_new_head_is_ordinary_and_a_missing_layer_is_not():
    head = RunMaker().log({"loss": falling(10)})
    head.event("weights_newly_initialized", role="info", names="'classifier.weight', 'classifier.bias'")
    inner = RunMaker().log({"loss": falling(10)})
    inner.event(
        "weights_newly_initialized", role="info", row="bert.encoder.layer.1.attention.self.key.weight"
    )

    assert head.plain()["signal.start.backbone_missing"] is False
    facts = inner.plain()
    assert facts["signal.start.backbone_missing"] is True
    assert facts["signal.start.missing_example"] == "bert.encoder.layer.1.attention.self.key.weight"


@pytest.mark.parametrize(
    "name",
    [
        "transformer.h.3.attn.c_attn.weight",
        "model.layers.{0...31}.mlp.up_proj.weight",
        "model.embed_tokens.weight",
        "vit.encoder.layers.0.mlp.fc1.bias",
    ],
)
def test_names_of_inner_weights(name):
    maker = RunMaker()
    maker.event("weights_newly_initialized", role="info", row=name)

    assert maker.plain()["signal.start.backbone_missing"] is True


def test_a_part_of_the_loss_that_stays_zero_is_named():
    facts = RunMaker().log({"loss": falling(30), "loss_mask": [0.1] * 30, "mask_loss": [0.0] * 30}).plain()

    assert facts["signal.data.zero_part"] == "mask_loss"


@pytest.mark.parametrize("name", ["cls_loss", "aux_loss", "kl_loss", "eval_seg_loss", "value_loss"])
def test_parts_that_may_well_be_zero_are_not(name):
    assert "signal.data.zero_part" not in RunMaker().log({"loss": falling(30), name: [0.0] * 30}).plain()


@pytest.mark.parametrize(
    ("name", "told"), [("train/obj_loss", True), ("patch/gan_loss", False), ("d_loss", False)]
)
def test_without_a_sum_only_the_parts_of_a_detector_belong_together(name, told):
    facts = RunMaker().log({"train/box_loss": falling(30), name: [0.0] * 30}).plain()

    assert ("signal.data.zero_part" in facts) is told


def test_an_accuracy_that_never_moves():
    maker = RunMaker().log({"loss": falling(40)})
    maker.log(
        {"eval_loss": [1.0, 0.9, 0.9], "eval_accuracy": [0.9] * 3},
        steps=[10, 20, 40],
        lines=[1001, 1002, 1003],
    )

    assert maker.plain()["signal.data.majority_only"] is True


@pytest.mark.parametrize("accuracy", [1.0, 0.1, 10.0, 0.333, 0.505])
def test_what_all_right_or_a_guess_among_equal_classes_reaches_is_no_majority(accuracy):
    maker = RunMaker().log({"loss": falling(40)})
    maker.log(
        {"eval_loss": [1.0, 0.9, 0.9], "eval_accuracy": [accuracy] * 3},
        steps=[10, 20, 40],
        lines=[1001, 1002, 1003],
    )

    assert maker.plain()["signal.data.majority_only"] is False


@pytest.mark.parametrize(("f1", "low"), [(0.817, False), (81.7, False), (0.3, True), (30.0, True)])
def test_a_share_of_the_rare_is_compared_with_accuracy_in_its_unit(f1, low):
    found = RunMaker().log({"eval_accuracy": [90.0, 95.0, 96.1], "val_f1": [f1 / 2, f1 / 1.1, f1]}).plain()

    assert found["signal.data.f1_far_below_accuracy"] is low


@pytest.mark.parametrize(
    ("f1", "low"), [([0.0, 0.2, 0.42], False), ([0.0, 0.05, 0.1], True), ([0.0, 0.5, 0.2], True)]
)
def test_entities_that_are_found_late_and_more_and_more_are_no_class_that_is_never_found(f1, low):
    found = RunMaker().log({"eval_accuracy": [0.96, 0.962, 0.97], "val_f1": f1}).plain()

    assert found["signal.data.f1_far_below_accuracy"] is low


def test_evaluation_is_compared_with_the_training_of_its_own_interval():
    maker = RunMaker().log({"loss": [4.0] * 10 + [2.0] * 10 + [1.0] * 10})
    maker.log({"eval_loss": [2.0, 1.0, 0.5]}, steps=[10, 20, 30], lines=[1001, 1002, 1003])
    facts = maker.plain()

    assert facts["signal.split.points"] == 3
    assert facts["signal.split.ratio"] == 0.5
    assert facts["signal.split.eval_below_share"] == 1.0


def test_a_share_of_padding_is_read_with_and_without_percent():
    percent, share = RunMaker(), RunMaker()
    percent.event("padding_share", role="info", share=83.0, unit="%")
    share.event("padding_share", role="info", share=0.83)

    assert percent.plain()["signal.data.padding_share"] == pytest.approx(0.83)
    assert share.plain()["signal.data.padding_share"] == pytest.approx(0.83)


def test_a_nan_part_counts_only_where_no_total_is_printed():
    nan = float("nan")

    assert RunMaker().log({"box_loss": [nan] * 3}).plain()["signal.data.nonfinite_part"] == "box_loss"
    with_total = RunMaker().log({"loss": [1.0] * 3, "box_loss": [nan] * 3})
    assert "signal.data.nonfinite_part" not in with_total.plain()


def test_a_classification_loss_before_any_update_is_taken_from_the_first_step_only():
    first = RunMaker().log({"loss_cls": [900.0, 3.0]}, steps=[0, 20])
    later = RunMaker().log({"loss_cls": [900.0, 3.0]}, steps=[50, 100])

    uncounted = RunMaker().log({"loss_cls": [65.0, 77.0, 65.5, 62.0]}, steps=None)

    assert first.plain()["signal.start.class_loss_first"] == 900.0
    assert "signal.start.class_loss_first" not in later.plain()
    assert "signal.start.class_loss_first" not in uncounted.plain()  # a sum over objects, amid the training


class TestOneBadPart:
    NAN = float("nan")

    @pytest.mark.parametrize(("score", "sound"), [(0.5, True), (0.0, False)])
    def test_a_part_that_alone_is_nan_and_what_the_model_finds(self, score, sound):
        maker = RunMaker().log(
            {"loss": [self.NAN] * 3, "box_loss": [self.NAN] * 3, "obj_loss": [0.5, 0.4, 0.3]}
        )
        facts = maker.log({"val/map50": [score]}).plain()

        assert facts["signal.data.lone_bad_part"] == "box_loss"
        assert facts["signal.data.sound_scores"] is sound

    @pytest.mark.parametrize(
        "other", [[NAN] * 3, [0.5, NAN, 0.5], [0.0] * 3], ids=["bad as well", "bad at times", "switched off"]
    )
    def test_other_parts_that_are_not_sound_prove_nothing(self, other):
        facts = RunMaker().log({"box_loss": [self.NAN] * 3, "obj_loss": other}).plain()

        assert "signal.data.lone_bad_part" not in facts

    def test_one_bad_row_is_no_bad_part(self):
        facts = RunMaker().log({"box_loss": [0.5, self.NAN, 0.4], "obj_loss": [0.5] * 3}).plain()

        assert "signal.data.lone_bad_part" not in facts


def of_classes(*tables):
    maker = RunMaker()
    for none, best in tables:
        maker.event(
            "class_scores",
            role="info",
            metric="iou",
            classes=6,
            at_zero=none,
            best=best,
            without_error=0,
            without_samples=0,
            names="car",
        )
    return maker.plain()


@pytest.mark.parametrize(
    ("tables", "never", "most", "since"),
    [([(2, 0.9)], 2, False, False), ([(3, 0.25)], 3, True, False), ([(4, 0.5), (1, 0.75)], 1, False, True), ([(1, 0.5), (1, 0.75)], 1, False, False)],
)  # fmt: skip
def test_the_last_table_of_classes_counts(tables, never, most, since):
    facts = of_classes(*tables)

    assert facts["signal.data.classes_never_found"] == never
    assert facts["signal.data.most_classes_never_found"] is most
    assert facts["signal.data.class_found_since"] is since


@pytest.mark.parametrize(
    ("columns", "line", "told"),
    [
        ({"loss": [0.9, 0.5, 0.4]}, 5, None),
        ({"train/cls_loss": [0.9, 0.5, 0.4], "val_loss": [0.9, 0.6, 0.5]}, 5, None),
        ({"loss": [0.9, 0.5, 0.4]}, 35, 2),
        ({"val_loss": [0.9, 0.5, 0.4]}, 5, 2),
        ({"loss": [0.4]}, 5, 2),  # that of the evaluation
        ({}, 5, 2),
    ],
)
def test_a_table_above_the_training_is_of_other_weights(columns, line, told):
    maker = RunMaker().log(columns)
    maker.event("class_scores", role="info", line=line, metric="iou", classes=6, at_zero=2, best=0.75, without_error=0, without_samples=0, names="car")  # fmt: skip

    assert maker.plain().get("signal.data.classes_never_found") == told


@pytest.mark.parametrize(
    ("right", "absent", "told"), [(1, 2, True), (0, 2, False), (2, 1, False), (1, 0, False)]
)
def test_one_class_without_an_error_beside_one_without_a_sample(right, absent, told):
    maker = RunMaker()
    maker.event(
        "class_scores",
        role="info",
        metric="iou",
        classes=3,
        at_zero=0,
        best=1.0,
        without_error=right,
        without_samples=absent,
    )

    assert maker.plain()["signal.data.class_right_beside_absent"] is told


@pytest.mark.parametrize(
    ("logged", "told"),
    [
        ({"val/mAP50": [0.0]}, True),
        ({"val/mAP50": [0.25]}, False),
        ({"val/mAP50": [0.0], "loss": falling(9)}, None),
    ],
)
def test_a_detector_that_is_only_evaluated_finds_nothing(logged, told):
    maker = RunMaker()
    for name, values in logged.items():
        maker.log({name: values}, steps=None if name == "loss" else [None])

    assert maker.plain().get("signal.data.nothing_found_in_test") is told


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("coco/bbox_mAP", -1.0, True),
        ("val_map", -1.0, True),
        ("val/mAP50", 0.0, False),
        ("val_map_small", -1.0, None),
        ("map_per_class", -1.0, None),
    ],
)
def test_a_precision_of_minus_one_over_all_objects_has_nothing_to_compare_with(name, value, told):
    maker = RunMaker().log({name: [value, value]}, steps=[None, None])

    assert maker.plain().get("signal.data.nothing_to_find") is told


def test_the_table_of_the_coco_tools_says_that_there_is_nothing_to_find():
    maker = RunMaker()
    maker.event("nothing_to_find", role="info")

    assert maker.plain()["signal.data.nothing_to_find"] is True
