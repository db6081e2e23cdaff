"""Which addresses on the network are somebody else's public servers: the only ones that a fetch may reach."""

import ipaddress

# IPv6 unicast that is routed on the internet lies in here; what is not for hosts is cut out below.
GLOBAL_UNICAST = ipaddress.ip_network("2000::/3")
NOT_FOR_HOSTS = tuple(
    ipaddress.ip_network(network)
    for network in (
        "2001::/23",  # protocol assignments: Teredo and others that carry an IPv4 address
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4, which carries an IPv4 address
        "3fff::/20",  # documentation
        "192.88.99.0/24",  # 6to4 relays
    )
)


def is_global(text: str) -> bool:
    """Whether an address is one host's on the public internet.

    Refuses private, loopback, link-local, shared, reserved, multicast and documentation ranges, and every IPv6 form
    that carries an IPv4 address (mapped, NAT64, 6to4, Teredo), because what it carries may be ours.
    """
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    if any(address.version == network.version and address in network for network in NOT_FOR_HOSTS):
        return False
    if isinstance(address, ipaddress.IPv6Address):
        return address.scope_id is None and address in GLOBAL_UNICAST and address.is_global
    return address.is_global and not address.is_multicast and not address.is_reserved
