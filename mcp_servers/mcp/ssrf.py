"""SSRF protection: addresses that users enter may be on the public internet, but not inside the site's own network."""

from __future__ import annotations

import ipaddress

UNICAST = ipaddress.ip_network("2000::/3")  # global unicast addresses; the rest of IPv6 is local or reserved

SPECIAL = [  # networks that some versions of Python wrongly call global
    ipaddress.ip_network(one) for one in ("192.0.0.0/24", "192.88.99.0/24", "3fff::/20", "2001::/23")
]


def is_public(address: str) -> bool:
    """Return whether an address, or the IPv4 address inside it, is public. Raises ValueError if it is no address."""
    found = ipaddress.ip_address(address.split("%")[0])
    if isinstance(found, ipaddress.IPv6Address):
        inside = found.ipv4_mapped or found.sixtofour
        if inside is not None:
            return is_public(str(inside))
        if found not in UNICAST:
            return False
    special = any(found in network for network in SPECIAL)
    return found.is_global and not special and not found.is_multicast and not found.is_reserved
