"""What the map does and refuses, checked through its own tools in small worlds."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any, get_args

import pytest
from calling import do, refused

from mcp_servers.core import Session, minute_text
from mcp_servers.core.times import parse_instant
from mcp_servers.maps import server
from mcp_servers.maps.engine import find_route, flow, network, seconds
from mcp_servers.maps.state import Mode, RoadSegment, TownMap, TownPlace, free_spaces, is_open
from mcp_servers.shared.places import places

MODES: tuple[Mode, ...] = get_args(Mode)


@pytest.fixture
def town() -> Session[TownMap]:
    return server.open(7, "small")


@pytest.fixture
def city() -> Session[TownMap]:
    return server.open(7, "default")


def of_kind(session: Session[TownMap], kind: str) -> TownPlace:
    return next(row for row in session.state.places.where(kind=kind) if not row.gone)


def gone(session: Session[TownMap]) -> TownPlace:
    return next(row for row in session.state.places if row.gone)


def pair(session: Session[TownMap], mode: Mode, least: int = 1, most: int = 10**6) -> tuple[TownPlace, TownPlace]:
    """Two places with a way between them of so many roads and metres."""
    rows = [row for row in session.state.places if not row.gone]
    for start in rows:
        for end in rows:
            route = find_route(session.state, start, end, mode, session.state.now)
            if start.id != end.id and route and len(route.roads) >= least and route.metres <= most:
                return start, end
    raise LookupError("No two places are so far from each other.")


def go(start: TownPlace, end: TownPlace, mode: str = "driving") -> dict[str, str]:
    return {"origin": start.id, "destination": end.id, "mode": mode}


def text(moment: datetime) -> str:
    return minute_text(moment)


def idle(session: Session[TownMap]) -> Session[TownMap]:
    """The same session, with no trip of the user under way."""
    for row in session.state.trips.where(sharer=session.state.me, ended=None):
        do(session, "end_shared_trip", trip=row.id)
    return session


def free_road(session: Session[TownMap], number: int = 0) -> RoadSegment:
    rows = [row for row in session.state.roads if row.kind == "main road"]
    return [row for row in rows if not session.state.closures.where(road=row.id)][number]


@pytest.mark.parametrize("size", ["small", "default", "large"])
def test_the_places_are_those_that_all_servers_know(size: str) -> None:
    session = server.open(5, size)
    known = places(5, len(session.state.places))
    assert [(row.id, row.name, row.street) for row in session.state.places] == [
        (place.id, place.name, place.street) for place in known
    ]


def test_places_are_searched_by_words_kind_and_nearness(city: Session[TownMap]) -> None:
    cafe, home = of_kind(city, "cafe"), of_kind(city, "home")
    assert cafe.id in [row["id"] for row in do(city, "search_places", query=cafe.name.upper(), limit=50)]
    assert [row["id"] for row in do(city, "search_places", query=cafe.street)] == [cafe.id]
    assert do(city, "search_places", query=f"{cafe.name} nowhere") == []
    cafes = do(city, "search_places", kind="cafe", near=home.id, limit=50)
    assert len(cafes) == len(city.state.places.where(kind="cafe"))
    assert [row["metres"] for row in cafes] == sorted(row["metres"] for row in cafes)
    assert home.id not in [row["id"] for row in do(city, "search_places", near=home.id, limit=50)]
    assert len(do(city, "search_places")) == 5 and "metres" not in do(city, "search_places")[0]
    both = do(city, "search_places", kind="cafe", query=cafe.name.split()[0], limit=50)
    assert cafe.id in [row["id"] for row in both] and {row["kind"] for row in both} == {"cafe"}


def test_places_can_be_filtered_by_when_they_are_open(city: Session[TownMap]) -> None:
    night = city.state.now.replace(hour=3) + timedelta(days=1)
    kinds = {row["kind"] for row in do(city, "search_places", open_at=text(night), limit=50)}
    assert "hotel" in kinds and not kinds & {"cafe", "restaurant", "bank", "home", "office"}


def test_hours_begin_and_end_on_the_minute_and_leave_out_days() -> None:
    monday = datetime(2026, 3, 2)
    for row in server.open(3, "default").state.places:
        if row.opens and row.closes and not row.gone:
            open_days = [n for n in range(7) if n not in row.closed_on]
            noon = timedelta(minutes=(row.opens + row.closes) // 2)
            assert [n for n in range(7) if is_open(row, monday + timedelta(days=n) + noon)] == open_days
            first = monday + timedelta(days=open_days[0])
            minutes = (row.opens - 1, row.opens, row.closes - 1, row.closes)
            assert [is_open(row, first + timedelta(minutes=m)) for m in minutes] == [False, True, True, False]
        elif row.kind == "hotel":
            assert is_open(row, monday) and is_open(row, monday - timedelta(minutes=1))


def test_details_tell_hours_reviews_and_where_it_is_saved(city: Session[TownMap]) -> None:
    state = city.state
    row = next(row for row in state.places if len(state.reviews.where(place=row.id)) > 2 and row.opens)
    saved = do(city, "save_place", list=next(iter(state.lists)).id, place=row.id)
    found = do(city, "get_place_details", place=row.id)
    stars = [review.stars for review in state.reviews.where(place=row.id)]
    assert found["rating_tenths"] == 10 * sum(stars) // len(stars)
    assert len(found["reviews"]) == 2 and found["reviews"][0]["on"] >= found["reviews"][1]["on"]
    assert found["reviews"][0]["on"] == max(str(review.on) for review in state.reviews.where(place=row.id))
    assert found["geo_point"] == f"{row.latitude},{row.longitude}"
    assert (found["open_now"], found["closed_for_good"]) == (is_open(row, city.state.now), False)
    assert found["saved_in"] == [saved["name"]] and "free_spaces" not in found
    home = do(city, "get_place_details", place=of_kind(city, "home").id)
    assert "open_now" not in home and "hours" not in home and "rating_tenths" not in home
    assert do(city, "get_place_details", place=of_kind(city, "hotel").id)["hours"] == "always"
    shut = do(city, "get_place_details", place=gone(city).id)
    assert (shut["open_now"], shut["closed_for_good"], "hours" in shut) == (False, True, False)


def test_free_spaces_change_with_the_hour_and_are_fewest_in_working_hours(city: Session[TownMap]) -> None:
    park = replace(of_kind(city, "car park"), spaces=100)
    for day in (datetime(2026, 3, 2), datetime(2026, 3, 7)):
        for hour in range(24):
            seen = [free_spaces(seed, park, day.replace(hour=hour)) or 0 for seed in range(300)]
            busy = day.weekday() == 0 and 8 <= hour < 18
            assert (min(seen), max(seen)) == ((0, 40) if busy else (21, 80))
    own = of_kind(city, "car park")
    assert do(city, "get_place_details", place=own.id)["free_spaces"] == free_spaces(7, own, city.state.now)


def test_an_address_and_its_point_lead_to_the_same_place(town: Session[TownMap]) -> None:
    row = of_kind(town, "hotel")
    found = do(town, "geocode_address", address=f" {row.street.upper()} , {row.city}")
    assert (found["id"], found["street_address"]) == (row.id, row.street)
    back = do(town, "reverse_geocode", point=found["geo_point"])
    assert (back["id"], back["name"], back["street_address"], back["metres"]) == (row.id, row.name, row.street, 0)
    assert row.junction in (town.state.roads[back["road"]].start, town.state.roads[back["road"]].end)
    assert town.state.roads[back["road"]].name == back["road_name"]
    assert refused(town, "geocode_address", address="1 Nowhere Street") == "address_not_found"


def test_a_point_far_away_is_outside(town: Session[TownMap]) -> None:
    home = of_kind(town, "home")
    assert refused(town, "reverse_geocode", point=f"{home.latitude + 200_000},{home.longitude}") == "outside_area"
    assert refused(town, "reverse_geocode", point="999999999,0") == "outside_area"


@pytest.mark.parametrize("mode", MODES)
def test_a_route_is_as_long_as_its_steps(mode: Mode) -> None:
    for seed in range(4):
        city = server.open(seed, "default")
        start, end = pair(city, mode, least=3, most=6_000)
        found = do(city, "get_directions", **go(start, end, mode))
        steps = found["steps"]
        assert found["metres"] == sum(step["metres"] for step in steps)
        assert found["minutes"] == max(1, -(-sum(step["seconds"] for step in steps) // 60))
        assert (steps[0]["turn"], steps[0]["name"], steps[0]["metres"]) == ("start", start.name, start.access)
        assert (steps[-1]["turn"], steps[-1]["name"], steps[-1]["metres"]) == ("arrive", end.name, end.access)
        assert all(city.state.roads[step["road"]].name == step["name"] for step in steps[1:-1])
        assert all(one["name"] != two["name"] for one, two in pairwise(steps[1:-1]))
        arrives = city.state.now + timedelta(minutes=found["minutes"])
        assert (found["departs"], found["arrives"]) == (text(city.state.now), text(arrives))
        assert found.get("open_on_arrival") == is_open(end, arrives)


def test_left_is_left_and_right_is_right() -> None:
    """Going there and back by the same roads, each left turn is a right turn."""
    city = server.open(2, "default")
    there = back = {}
    for start in city.state.places:
        for end in city.state.places:
            if start.id < end.id and not start.gone and not end.gone:
                there, back = (city.call("get_directions", go(*way, "walking")) for way in ((start, end), (end, start)))
                if there.ok and back.ok:
                    names = [[step["name"] for step in one.data["steps"]] for one in (there, back)]
                    if names[0] == names[1][::-1] and len(names[0]) > 4:
                        turns = [[step["turn"] for step in one.data["steps"][2:-1]] for one in (there, back)]
                        other = {"left": "right", "right": "left", "straight": "straight"}
                        if set(turns[0]) > {"left", "right"}:
                            assert turns[0] == [other[turn] for turn in turns[1][::-1]]
                            return
    raise LookupError("No way turns both ways.")


def test_the_rush_hour_slows_cars_and_nobody_else(city: Session[TownMap]) -> None:
    start, end = pair(city, "driving", least=4, most=6_000)
    rush = city.state.now.replace(hour=17) + timedelta(days=(7 - city.state.now.weekday()))
    night = rush.replace(hour=23)
    slow = do(city, "get_directions", **go(start, end), depart=text(rush))
    fast = do(city, "get_directions", **go(start, end), depart=text(night))
    assert slow["minutes"] > fast["minutes"] and fast["delay"] == 0 < slow["delay"]
    start, end = pair(city, "walking", least=3, most=6_000)
    on_foot = [do(city, "get_directions", **go(start, end, "walking"), depart=text(at)) for at in (rush, night)]
    assert on_foot[0]["minutes"] == on_foot[1]["minutes"] and on_foot[0]["delay"] == 0


FLOW = {"motorway": (55, 80), "main road": (50, 75), "street": (75, 90), "path": (100, 100)}


@pytest.mark.parametrize("hour", range(24))
def test_traffic_is_by_hour_day_and_kind_of_road(city: Session[TownMap], hour: int) -> None:
    monday, saturday = datetime(2026, 3, 2, hour), datetime(2026, 3, 7, hour)
    for kind, (rush, busy) in FLOW.items():
        seen = [flow(road, monday) for road in city.state.roads if road.kind == kind]
        usual = rush if hour in (7, 8, 16, 17, 18) else busy if hour in (6, 9, 12, 13, 15, 19) else 100
        least = usual if usual == 100 and kind != "path" else usual - 15
        assert least <= min(seen) and max(seen) <= usual
        if kind == "main road":
            assert (min(seen), max(seen)) == (least, usual)
    assert {flow(road, saturday) for road in city.state.roads} == {100}


def test_a_kilometre_takes_as_long_as_its_speed_says(city: Session[TownMap]) -> None:
    road = replace(next(row for row in city.state.roads if row.kind == "main road"), length=1_000, speed=50)
    rush = datetime(2026, 3, 2, 17)
    assert [seconds(road, mode, rush) for mode in ("cycling", "walking")] == [240, 720]
    assert seconds(road, "driving", None) == seconds(road, "driving", rush.replace(hour=3)) == 72
    assert seconds(road, "driving", rush) == 7_200 // flow(road, rush)
    tiny = replace(road, length=1)
    assert [seconds(tiny, mode, None) for mode in ("driving", "cycling")] == [1, 1]


HOURS = {
    "restaurant": (11, 23), "cafe": (7, 18), "supermarket": (8, 21), "pharmacy": (9, 19), "museum": (10, 18),
    "school": (8, 16), "bank": (9, 16), "library": (10, 19), "cinema": (14, 23), "gym": (6, 22), "park": (6, 21),
}  # fmt: skip


@pytest.mark.parametrize("kind", HOURS)
def test_places_of_a_kind_open_and_close_at_about_the_same_hours(kind: str) -> None:
    rows = [row for seed in range(10) for row in server.open(seed, "default").state.places.where(kind=kind)]
    opens, closes = [row.opens or 0 for row in rows], [row.closes or 0 for row in rows]
    first, last = HOURS[kind]
    assert (min(opens), max(opens)) == (first * 60 - 30, first * 60 + 60)
    assert (min(closes), max(closes)) == (last * 60 - 60, last * 60 + 30)


def test_a_route_can_avoid_tolls_and_motorways() -> None:
    for seed in range(20):
        session = server.open(seed, "default")
        state = session.state
        for start in list(state.places)[:30]:
            for end in list(state.places)[:30]:
                usual = find_route(state, start, end, "driving", state.now)
                if usual is None or not any(road.toll for road in usual.roads) or end.gone:
                    continue
                assert do(session, "get_directions", **go(start, end))["tolls"] == sum(r.toll for r in usual.roads)
                assert do(session, "get_directions", **go(start, end), avoid="tolls")["tolls"] == 0
                around = do(session, "get_directions", **go(start, end), avoid="motorways")
                kinds = {state.roads[step["road"]].kind for step in around["steps"][1:-1]}
                assert around["minutes"] >= usual.seconds // 60 and "motorway" not in kinds
                return
    raise LookupError("No world has a route with a toll.")


def test_who_may_use_which_road() -> None:
    for seed in range(3):
        state = server.open(seed, "default").state
        rows = list(state.places)[:12]
        for mode in MODES:
            for start in rows:
                for end in rows:
                    route = find_route(state, start, end, mode, state.now)
                    kinds = {road.kind for road in route.roads} if route else set()
                    assert not kinds & ({"path"} if mode == "driving" else {"motorway"})
                    here = start.junction
                    for road in route.roads if route else ():
                        assert mode == "walking" or not road.one_way or here == road.start
                        here = road.end if here == road.start else road.start


def test_cars_do_not_reach_parks_but_bicycles_do(city: Session[TownMap]) -> None:
    park = of_kind(city, "park")
    near = next(row for row in city.state.places if row.junction in reached(city, park) and row.kind != "park")
    assert refused(city, "get_directions", **go(near, park)) == "no_route"
    do(city, "get_directions", **go(near, park, "cycling"))


def reached(session: Session[TownMap], place: TownPlace) -> list[str]:
    return list(network(7, len(session.state.places)).neighbors(place.junction))


def test_directions_are_refused_where_nobody_goes(town: Session[TownMap]) -> None:
    home, office = of_kind(town, "home"), of_kind(town, "office")
    assert refused(town, "get_directions", **go(home, home)) == "same_place"
    assert refused(town, "get_directions", **go(home, gone(town))) == "place_closed"
    past = text(town.state.now - timedelta(minutes=1))
    assert refused(town, "get_directions", **go(home, office), depart=past) == "departure_in_past"
    do(town, "get_directions", **go(home, office), depart=text(town.state.now))
    do(town, "get_directions", **go(home, office), depart=text(town.state.now + timedelta(days=365)))
    for late in (text(town.state.now + timedelta(days=365, minutes=1)), "9999-12-31T23:59:00Z"):
        assert refused(town, "get_directions", **go(home, office), depart=late) == "departure_too_late"
    furthest = minute_text(town.state.now + timedelta(days=365))
    assert furthest in town.call("get_directions", {**go(home, office), "depart": late}).text


@pytest.mark.parametrize(("mode", "most"), [("walking", 6_000), ("cycling", 15_000)])
def test_nobody_is_sent_too_far(mode: Mode, most: int) -> None:
    session = server.open(1, "large")
    state = session.state
    ways = [
        (start, end, route.metres)
        for start in list(state.places)[:6]
        for end in list(state.places)[600:660]
        for route in [find_route(state, start, end, mode, state.now)]
        if route and not end.gone
    ]
    assert any(metres > most for *_, metres in ways) and any(metres <= most for *_, metres in ways)
    for start, end, metres in ways[::7]:
        reply = session.call("get_directions", go(start, end, mode))
        assert reply.ok == (metres <= most)
        assert reply.ok or reply.data["error"] == f"too_far_for_{mode}"


def test_a_matrix_has_a_time_for_each_pair_that_directions_agree_with(city: Session[TownMap]) -> None:
    rows = [of_kind(city, kind) for kind in ("home", "office", "hotel")]
    park = of_kind(city, "park")
    ids = [row.id for row in rows]
    table = do(city, "get_distance_matrix", origins=ids[:2], destinations=[*ids[1:], park.id], mode="driving")
    assert [(one["origin"], one["destination"]) for one in table] == [
        (start, end) for start in ids[:2] for end in (*ids[1:], park.id)
    ]
    for one in table:
        if one["destination"] in (park.id, one["origin"]):
            assert "minutes" not in one and "metres" not in one
        else:
            way = do(city, "get_directions", origin=one["origin"], destination=one["destination"], mode="driving")
            assert (one["metres"], one["minutes"]) == (way["metres"], way["minutes"])
    twice = do(city, "get_distance_matrix", origins=[ids[0]] * 2, destinations=[ids[1]], mode="walking")
    assert len(twice) == 1


@pytest.mark.parametrize("mode", MODES)
def test_what_is_within_reach_takes_no_longer_than_the_limit(city: Session[TownMap], mode: Mode) -> None:
    home, minutes = of_kind(city, "home"), 14
    found = do(city, "find_reachable_places", origin=home.id, minutes=minutes, mode=mode, limit=50)
    assert [row["minutes"] for row in found] == sorted(row["minutes"] for row in found)
    expected = {}
    for row in city.state.places:
        route = find_route(city.state, home, row, mode, city.state.now)
        if route and row.id != home.id and not row.gone and route.seconds <= 60 * minutes:
            expected[row.id] = max(1, -(-route.seconds // 60))
    listed = {row["id"]: row["minutes"] for row in found}
    assert listed.items() <= expected.items() and len(listed) == min(50, len(expected))
    hotels = do(city, "find_reachable_places", origin=home.id, minutes=60, mode=mode, kind="hotel", limit=2)
    assert {row["kind"] for row in hotels} <= {"hotel"} and len(hotels) <= 2


def test_a_reported_closure_moves_the_route_until_it_is_withdrawn_or_over(city: Session[TownMap]) -> None:
    start, end = pair(city, "driving", least=4)
    before = do(city, "get_directions", **go(start, end))
    road = next(step["road"] for step in before["steps"][2:-1] if city.state.roads[step["road"]].kind != "motorway")
    closure = do(city, "report_road_closure", road=road, reason="flooding", hours=3)
    assert closure["mine"] and closure["road_name"] == city.state.roads[road].name
    assert [row["mine"] for row in do(city, "list_road_closures", limit=3)] == [True, True, False]
    assert do(city, "list_road_closures")[0]["id"] == closure["id"]
    around = city.call("get_directions", go(start, end))
    assert not around.ok or road not in [step.get("road") for step in around.data["steps"]]
    after = city.state.now + timedelta(hours=3)
    assert do(city, "get_directions", **go(start, end), depart=text(after))["metres"] > 0
    assert closure["id"] not in [row["id"] for row in do(city, "list_road_closures", now=after, limit=50)]
    assert refused(city, "withdraw_road_closure", now=after, closure=closure["id"]) == "closure_over"
    assert refused(city, "report_road_closure", road=road, reason="accident", hours=1) == "closure_already_reported"
    do(city, "withdraw_road_closure", closure=closure["id"])
    assert do(city, "get_directions", **go(start, end))["steps"] == before["steps"]
    do(city, "report_road_closure", road=road, reason="accident", hours=1)


def test_a_closed_road_is_open_to_walkers(city: Session[TownMap]) -> None:
    start, end = pair(city, "walking", least=3, most=6_000)
    before = do(city, "get_directions", **go(start, end, "walking"))
    roads = [step["road"] for step in before["steps"][1:-1] if city.state.roads[step["road"]].kind != "path"]
    road = next(id for id in roads if not city.state.closures.where(road=id))
    do(city, "report_road_closure", road=road, reason="fallen tree", hours=5)
    assert do(city, "get_directions", **go(start, end, "walking"))["steps"] == before["steps"]


def test_only_roads_are_closed_and_only_by_who_reported_them(town: Session[TownMap]) -> None:
    path = next(row for row in town.state.roads if row.kind == "path")
    assert refused(town, "report_road_closure", road=path.id, reason="accident", hours=1) == "path_not_closable"
    theirs = next(row for row in town.state.closures if row.reporter is None)
    assert refused(town, "withdraw_road_closure", closure=theirs.id) == "not_your_report"


def test_five_open_reports_are_the_most(city: Session[TownMap]) -> None:
    mine = [row for row in city.state.closures if row.reporter == city.state.me and row.active(city.state.now)]
    for _ in range(5 - len(mine)):
        last = do(city, "report_road_closure", road=free_road(city).id, reason="accident", hours=2)["id"]
    report = {"road": free_road(city).id, "reason": "accident", "hours": 2}
    assert refused(city, "report_road_closure", **report) == "too_many_reports"
    do(city, "withdraw_road_closure", closure=last)
    do(city, "report_road_closure", **report)


def test_closures_are_listed_nearest_first(city: Session[TownMap]) -> None:
    home = of_kind(city, "home")
    every = do(city, "list_road_closures", limit=50)
    near = do(city, "list_road_closures", near=home.id, limit=50)
    assert sorted(row["id"] for row in every) == sorted(row["id"] for row in near)
    start = {row["id"]: city.state.junctions[city.state.roads[row["road"]].start] for row in near}
    apart = [abs(start[row["id"]].latitude - home.latitude) for row in near]
    assert apart[0] <= apart[-1] or len(near) < 3
    assert all(row["since"] <= text(city.state.now) < row["until"] for row in every)


def test_a_list_is_created_and_takes_each_place_once(town: Session[TownMap]) -> None:
    made = do(town, "create_place_list", name="  rainy   days ")
    assert (made["name"], made["count"], made["places"]) == ("rainy days", 0, [])
    assert refused(town, "create_place_list", name="Rainy Days") == "list_exists"
    rows = [row for row in town.state.places if not row.gone]
    save = {"list": made["id"], "place": rows[0].id}
    saved = do(town, "save_place", **save, label="best coffee")
    assert saved["places"] == [{"place": rows[0].id, "name": rows[0].name, "label": "best coffee"}]
    assert refused(town, "save_place", **save) == "already_saved"
    assert refused(town, "save_place", list=made["id"], place=gone(town).id) == "place_closed"
    two = do(town, "save_place", list=made["id"], place=rows[1].id)
    assert (two["count"], [one["place"] for one in two["places"]]) == (2, [rows[1].id, rows[0].id])
    assert do(town, "list_place_lists", name="INY d") == [two]
    assert do(town, "list_place_lists", name="INY d", limit=1)[0]["places"] == two["places"][:1]


def test_twenty_places_and_twenty_lists_are_the_most(city: Session[TownMap]) -> None:
    id = do(city, "create_place_list", name="must see")["id"]
    rows = [row for row in city.state.places if not row.gone]
    for row in rows[:20]:
        do(city, "save_place", list=id, place=row.id)
    assert refused(city, "save_place", list=id, place=rows[20].id) == "list_full"
    for number in range(20 - len(city.state.lists)):
        do(city, "create_place_list", name=f"list {number}")
    assert refused(city, "create_place_list", name="one more") == "too_many_lists"


def test_a_shared_trip_moves_arrives_and_ends(city: Session[TownMap]) -> None:
    start, end = pair(idle(city), "cycling", least=5)
    viewer = do(city, "list_shared_trips")[0]["contact"]
    began = city.state.now
    trip = do(city, "share_trip", **go(start, end, "cycling"), viewer=viewer)
    assert (trip["status"], trip["mine"], trip["contact"]) == ("under way", True, viewer)
    metres = trip["metres_left"]
    assert metres == do(city, "get_directions", **go(start, end, "cycling"))["metres"]
    assert trip["geo_point"] == f"{start.latitude},{start.longitude}"
    assert refused(city, "share_trip", **go(end, start), viewer=viewer) == "trip_under_way"
    arrives = parse_instant(trip["arrives"])
    minutes = (arrives - began) // timedelta(minutes=1)
    seen = [do(city, "list_shared_trips", now=began + timedelta(minutes=n))[0] for n in range(1, minutes + 1)]
    left = [one["metres_left"] for one in seen]
    assert left == [metres - metres * n // minutes for n in range(1, minutes + 1)]
    assert [one["status"] for one in seen] == ["under way"] * (minutes - 1) + ["arrived"]
    assert len({one["geo_point"] for one in seen}) > 2 and seen[-1]["geo_point"] == f"{end.latitude},{end.longitude}"
    ended = do(city, "end_shared_trip", now=began + timedelta(minutes=2), trip=trip["id"])
    assert (ended["status"], ended["metres_left"]) == ("ended", left[1])
    assert do(city, "list_shared_trips", now=arrives)[0]["metres_left"] == left[1]
    assert refused(city, "end_shared_trip", trip=trip["id"]) == "trip_already_ended"
    do(city, "share_trip", **go(end, start, "cycling"), viewer=viewer)


def test_a_trip_is_ended_only_by_who_shares_it(town: Session[TownMap]) -> None:
    rows = do(town, "list_shared_trips", under_way=True, limit=50)
    theirs = next(row for row in rows if not row["mine"])
    assert refused(town, "end_shared_trip", trip=theirs["id"]) == "not_your_trip"
    assert theirs["status"] != "ended" and all(row["status"] != "ended" for row in rows)
    every = do(town, "list_shared_trips", limit=50)
    assert len(every) == len(town.state.trips)
    started = [town.state.trips[row["id"]].started for row in every]
    assert started == sorted(started, reverse=True)
    assert len(do(town, "list_shared_trips", limit=1)) == 1


def test_a_trip_needs_a_contact_and_a_way(city: Session[TownMap]) -> None:
    state, home = idle(city).state, of_kind(city, "home")
    viewer = next(iter(state.contacts)).id
    assert refused(city, "share_trip", **go(home, of_kind(city, "office")), viewer=state.me) == "yourself"
    assert refused(city, "share_trip", **go(home, of_kind(city, "office")), viewer="no@body") == "not_found"
    assert refused(city, "share_trip", **go(home, home), viewer=viewer) == "same_place"
    assert refused(city, "share_trip", **go(home, of_kind(city, "park")), viewer=viewer) == "no_route"
    assert refused(city, "share_trip", **go(home, gone(city)), viewer=viewer) == "place_closed"


def test_lists_stop_at_their_limit_and_at_five_otherwise(city: Session[TownMap]) -> None:
    reach = {"origin": of_kind(city, "home").id, "minutes": 60, "mode": "driving"}
    tools: tuple[tuple[str, dict[str, Any]], ...] = (
        ("search_places", {}),
        ("find_reachable_places", reach),
        ("list_road_closures", {}),
        ("list_shared_trips", {}),
    )
    for tool, given in tools:
        every = do(city, tool, **given, limit=50)
        assert len(every) > 5
        assert do(city, tool, **given) == every[:5] and do(city, tool, **given, limit=2) == every[:2]


def test_from_every_place_cars_reach_every_other_that_is_no_park_when_nothing_is_closed() -> None:
    for seed in range(6):
        state = server.open(seed, "default").state
        later = state.now + timedelta(days=30)
        home = next(iter(state.places))
        for row in state.places:
            if row.kind != "park":
                assert row.junction == home.junction or find_route(state, home, row, "driving", later)
                assert find_route(state, row, home, "driving", later)
            assert find_route(state, home, row, "walking", later)
