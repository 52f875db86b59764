import pytest

from . import results


@pytest.fixture(scope="session")
def make_problem():
    return results.make_problem


@pytest.fixture(scope="session")
def build():
    return results.build
