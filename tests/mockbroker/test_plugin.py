"""The pytest plug-in, in a pytest of its own."""

from __future__ import annotations

import subprocess
import sys

pytest_plugins = ["pytester"]

TIMEOUT = 20.0

PROJECT = """
    import pytest

    def test_default(mock_kafka):
        assert sorted(mock_kafka.brokers) == [1, 2, 3]
        mock_kafka.create_topic("t")
        assert mock_kafka.produce("t", b"a") == [0]

    def test_each_test_has_its_own(mock_kafka):
        with pytest.raises(Exception, match="no topic"):
            mock_kafka.messages("t")

    @pytest.mark.mock_kafka(brokers=1, topics={"flights": 6}, version="2.8")
    def test_marked(mock_kafka):
        assert len(mock_kafka.brokers) == 1
        assert mock_kafka.end_offset("flights", 5) == 0
        assert "Kafka 2.8" in repr(mock_kafka)

    @pytest.mark.mock_kafka(version="0.7")
    def test_wrong(mock_kafka):
        pass
"""


def test_the_pytest_plugin(pytester):
    pytester.makepyfile(PROJECT)
    result = pytester.runpytest_subprocess("--strict-markers", "-W", "error")
    result.assert_outcomes(passed=3, errors=1)
    result.stdout.fnmatch_lines(["*versions 0.8.2 to *"])
    pytester.runpytest_subprocess("--markers").stdout.fnmatch_lines(["@pytest.mark.mock_kafka(brokers=3*"])


CONFTEST = """
    import pytest

    @pytest.fixture(scope="session")
    def mock_kafka_options():
        return {"brokers": 1, "topics": {"given": 2}}
"""

SESSION = """
    import pytest

    def test_one(mock_kafka_session):
        assert list(mock_kafka_session.brokers) == [1]
        mock_kafka_session.produce("given", b"a")

    def test_two(mock_kafka_session, mock_kafka):
        assert mock_kafka_session.end_offset("given") == 1
        assert mock_kafka.end_offset("given") == 0

    @pytest.mark.mock_kafka(brokers=2)
    def test_marker_goes_first(mock_kafka):
        assert list(mock_kafka.brokers) == [1, 2]
        assert mock_kafka.end_offset("given", 1) == 0
"""

UNUSED_FAULTS = """
    import pytest

    @pytest.mark.mock_kafka(brokers=1, check_faults=True)
    def test_unused(mock_kafka):
        mock_kafka.drop("Produce")

    @pytest.mark.mock_kafka(brokers=1)
    def test_not_asked(mock_kafka):
        mock_kafka.drop("Produce")

    @pytest.mark.mock_kafka(brokers=1, check_faults=True)
    def test_none(mock_kafka):
        pass
"""


def test_a_cluster_for_all_tests_and_options_for_all(pytester):
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(SESSION)
    pytester.runpytest_subprocess("-W", "error").assert_outcomes(passed=3)


def test_faults_that_never_struck_fail_the_test_if_it_wants(pytester):
    pytester.makepyfile(UNUSED_FAULTS)
    result = pytester.runpytest_subprocess("-W", "error")
    result.assert_outcomes(passed=3, errors=1)
    result.stdout.fnmatch_lines(["*1 of 1 faults never fired: <Fault drop Produce, when=after: fired 0>*"])


def test_the_plugin_imports_nothing_until_it_is_used():
    check = (
        "import sys, mockbroker.pytest_plugin; print([m for m in sys.modules if m.startswith(('kafkawire', 'mockbroker.'))])"
    )
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, timeout=TIMEOUT, check=True)
    assert done.stdout.strip() == "['mockbroker.pytest_plugin']"
