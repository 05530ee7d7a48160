"""The data card of a data set's page."""

from prove_web.trajectories.dataset_card import card


def test_a_card_counts_texts_by_who_wrote_them_over_all_splits() -> None:
    splits = {
        "train": {"wording": {"user: model": 5, "user: a value is lost": 1}},
        "held_out": {"wording": {"user: model": 2}},
    }
    made = card({"manifest": {"splits": splits}})
    assert made and made.wording == (("user: model", 7), ("user: a value is lost", 1))
    plain = card({"manifest": {"splits": {"train": {}}}})
    assert plain and plain.wording == ()
