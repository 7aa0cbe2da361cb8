"""CRC32C: published vectors, and the package against both pure ways."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkawire.protocol.crc32c import FOLDS, POLYNOMIAL, crc32c, crc32c_bytewise, crc32c_folded
from tests import bare
from tests.protocol.optional import with_and_without

__all__ = ["with_and_without"]

# RFC 3720, B.4, and the check value that CRC catalogues list.
VECTORS = [
    (b"", 0x00000000),
    (b"123456789", 0xE3069283),
    (bytes(32), 0x8A9136AA),
    (b"\xff" * 32, 0x62A8AB43),
    (bytes(range(32)), 0x46DD794E),
    (bytes(range(31, -1, -1)), 0x113FDB5C),
]


@pytest.mark.parametrize(("data", "expected"), VECTORS)
@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_published_vectors(with_and_without, data, expected, kind):
    assert crc32c(kind(data)) == expected


@pytest.fixture(scope="module")
def reference():
    """The package's."""
    return bare.package("crc32c").crc32c


@pytest.mark.parametrize("size", [0, 1, 3, 4, 70, 71, 127, 128, 129, 847, 848, 5018, 5019, 65535, 65536, 65537, 65540, 200_003])
def test_pure_ways_agree_with_the_package_at_every_boundary(reference, size):
    data = (bytes(range(251)) * (size // 251 + 1))[:size]
    assert crc32c_folded(data) == reference(data)
    assert crc32c_bytewise(data[:5000]) == reference(data[:5000])


@given(st.binary(max_size=3000), st.integers(0, 0xFFFFFFFF))
def test_pure_ways_agree_with_the_package(reference, data, value):
    assert crc32c_folded(data, value) == crc32c_bytewise(data, value) == reference(data, value)


@pytest.mark.parametrize("cut", [0, 1, 500, 2999, 3000])
def test_a_checksum_goes_on_from_a_value(with_and_without, cut):
    data = bytes(range(250)) * 12
    assert crc32c(data[cut:], crc32c(data[:cut])) == crc32c(data)


@pytest.mark.parametrize(("degree", "terms"), FOLDS)
def test_the_folds_are_congruences_of_the_polynomial(degree, terms):
    generator = 1 << 32 | int(f"{POLYNOMIAL:032b}"[::-1], 2)
    rest = 1 << degree
    for term in terms:
        rest ^= 1 << term
    while rest.bit_length() > 32:
        rest ^= generator << rest.bit_length() - 33
    assert rest == 0
