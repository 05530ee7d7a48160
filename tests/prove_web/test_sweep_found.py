"""What a sweep finds out about its settings: lines through their values, and shares that match a known effect."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from prove_web.experiments.sweep_analysis import BOTTOM, ENOUGH, SIDE, TOP, WIDTH, Member, parallel, weights

TITLES = {"rate": "Learning rate", "loss": "Loss"}
MEMBERS = st.lists(
    st.builds(
        lambda number, rate, loss, reward: Member(number, {"rate": rate, "loss": loss}, reward, False),
        st.integers(1, 99),
        st.sampled_from(["1e-6", "1e-5", "1e-4"]),
        st.sampled_from(["dapo", "grpo"]),
        st.floats(0, 1.3),
    ),
    min_size=1,
    max_size=20,
)


@given(MEMBERS)
def test_every_member_is_a_line_within_the_picture_and_equal_values_meet(members: list[Member]) -> None:
    found = parallel(members, TITLES)
    assert [axis.title for axis in found.axes] == [*TITLES.values(), "Held-out reward"]
    places: dict[tuple[int, str], set[float]] = {}
    for line, member in zip(found.lines, members, strict=True):
        points = [tuple(map(float, point.split(","))) for point in line.points.split()]
        values = [*member.values.values(), f"{member.reward:.3f}"]
        for at, ((x, y), value) in enumerate(zip(points, values, strict=True)):
            assert SIDE <= x <= WIDTH - SIDE and TOP <= y <= BOTTOM
            places.setdefault((at, value), set()).add(y)
    assert all(len(heights) == 1 for heights in places.values())


@given(MEMBERS)
def test_shares_are_shares_the_largest_first(members: list[Member]) -> None:
    found = weights(members, TITLES)
    assert all(0 <= one.share <= 1 + 1e-9 and 0 <= one.p <= 1 for one in found)
    assert [one.share for one in found] == sorted((one.share for one in found), reverse=True)
    assert len(members) >= ENOUGH or not found


def test_what_decides_explains_all_and_what_does_not_nothing() -> None:
    members = [
        Member(
            at, {"rate": f"{10 ** -(6 - at // 4)}", "loss": ("dapo", "grpo", "grpo", "dapo")[at % 4]}, at // 4, False
        )
        for at in range(12)
    ]
    first, second = weights(members, TITLES)
    assert (first.title, first.share, first.clear, first.sign) == ("Learning rate", 1.0, True, "higher is better")
    assert second.share < 1e-9 and not second.clear


def test_few_runs_say_nothing() -> None:
    members = [Member(at, {"rate": str(at), "loss": "dapo"}, float(at), False) for at in range(ENOUGH - 1)]
    assert weights(members, TITLES) == []
    assert [one.title for one in weights([*members, Member(9, {"rate": "9", "loss": "dapo"}, 9.0, True)], TITLES)] == [
        "Learning rate"
    ]
