"""Which addresses are out on the internet: what users name may lead there, and not into the site's own network."""

from __future__ import annotations

import ipaddress

UNICAST = ipaddress.ip_network("2000::/3")  # all that is out there of IPv6; the rest is local or stands for something

SPECIAL = [  # which some versions of Python call global
    ipaddress.ip_network(one) for one in ("192.0.0.0/24", "192.88.99.0/24", "3fff::/20", "2001::/23")
]


def is_public(address: str) -> bool:
    """Whether it is one host of the internet, also where it wraps another address. Raises ValueError for no address."""
    found = ipaddress.ip_address(address.split("%")[0])
    if isinstance(found, ipaddress.IPv6Address):
        inside = found.ipv4_mapped or found.sixtofour
        if inside is not None:
            return is_public(str(inside))
        if found not in UNICAST:
            return False
    special = any(found in network for network in SPECIAL)
    return found.is_global and not special and not found.is_multicast and not found.is_reserved
