import pytest

from . import results


@pytest.fixture(scope="session")
def make_job():
    return results.make_job


@pytest.fixture(scope="session")
def make_problem():
    return results.make_problem


@pytest.fixture(scope="session")
def make_computation():
    return results.make_computation


@pytest.fixture(scope="session")
def build():
    return results.build
