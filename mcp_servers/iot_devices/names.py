"""What rooms and devices are called, and how many watts an appliance takes."""

from __future__ import annotations

from .device_types import DeviceKind, Quantity

ROOMS = (
    "kitchen", "living room", "bedroom", "bathroom", "hallway", "study", "dining room", "nursery", "attic", "cellar",
    "laundry", "pantry", "library", "workshop", "winter garden", "playroom", "sauna", "gallery", "music room", "den",
)  # fmt: skip
SIDES = ("", "north ", "south ", "east ", "west ", "guest ")
DEVICES: dict[DeviceKind, tuple[str, ...]] = {
    "light": (
        "ceiling light", "floor lamp", "reading lamp", "wall light", "spotlight", "pendant light", "light strip",
        "lantern", "night light", "table lamp",
    ),
    "plug": ("kettle", "coffee maker", "fan", "television", "freezer", "heater", "printer", "aquarium", "toaster"),
    "thermostat": ("thermostat",),
    "speaker": ("speaker", "radio", "soundbar"),
    "blinds": ("blinds", "shutter", "curtain"),
    "camera": ("camera",),
    "sprinkler": ("sprinkler",),
}  # fmt: skip
SENSORS: dict[Quantity, str] = {
    "temperature": "thermometer",
    "humidity": "humidity sensor",
    "motion": "motion sensor",
    "smoke": "smoke detector",
}
WATTS = {
    "kettle": 2000, "coffee maker": 1200, "fan": 45, "television": 120, "freezer": 90, "heater": 1500, "printer": 30,
    "aquarium": 60, "toaster": 900, "thermostat": 800, "sprinkler": 40, "camera": 6, "speaker": 25, "radio": 10,
    "soundbar": 60,
}  # fmt: skip
LIGHT_WATTS = (5, 7, 9, 12, 15, 20, 40, 60)
SCENES = (
    "morning", "evening", "night", "away", "welcome", "movie", "focus", "relax", "guests", "sleep", "holiday",
    "sunrise", "sunset", "lunch", "storm", "energy saver", "cosy", "bright", "summer", "winter",
)  # fmt: skip
FIRMWARES = ("1.8.0", "2.0.4", "2.3.1", "2.4.0", "3.1.2", "3.2.0", "4.0.1", "4.1.7")
