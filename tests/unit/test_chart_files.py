"""Generated files of the Helm chart, and the values they are made of."""

from __future__ import annotations

import json
import tomllib

import pytest
import yaml

from helm.generate.commented_values import described_values
from helm.generate.files import CHART, files
from helm.generate.values import ChartValues
from queue_agent.config.agent import AgentConfig

VALUES = (CHART / "values.yaml").read_text()
CONFIG = {"stage": "a", "clusters": {"b": {"proxy": "c"}}, "state": {"cluster": "b"}}


@pytest.mark.parametrize("name", sorted(files()))
def test_a_file_of_the_chart_is_what_the_code_generates_now(name: str) -> None:
    assert (CHART / name).read_text() == files()[name], "run `make docs`"


def test_every_value_is_described() -> None:
    assert [value.path for value in described_values(VALUES) if not value.description] == []


def test_the_defaults_fit_the_models_and_every_value_has_one() -> None:
    given = yaml.safe_load(VALUES) | {"config": CONFIG}
    values = ChartValues.model_validate(given)
    assert values.model_dump(exclude={"config"}, exclude_unset=True) == values.model_dump(exclude={"config"})


def test_all_parts_of_a_release_have_one_version() -> None:
    root = CHART.parent.parent
    version = tomllib.loads((root / "pyproject.toml").read_text())["project"]["version"]
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert (chart["version"], chart["appVersion"]) == (version, version)
    assert f"image: yt-queue-agent:{version}\n" in chart["annotations"]["artifacthub.io/images"]
    assert f"ARG VERSION={version}\n" in (root / "Dockerfile").read_text()


def test_every_option_of_the_configuration_can_be_given_but_what_the_chart_knows_itself() -> None:
    definitions = json.loads((CHART / "values.schema.json").read_text())["definitions"]
    schema = AgentConfig.model_json_schema()
    missing = {
        f"{name}.{option}"
        for name, model in [*schema["$defs"].items(), ("AgentConfig", schema)]
        for option in model.get("properties", ())  # an enumeration has none
        if option not in definitions[name]["properties"]
    }
    assert missing == {"AgentConfig.host", "ClusterConfig.token_file", "ClusterConfig.ca_file"}


def test_a_comment_above_a_key_describes_it_and_no_other() -> None:
    text = "# -- One, in\n# two lines.\na: 1\nb:\n  # -- Inner.\n  c: {}\n\n# -- Of nobody.\n\nd: []\n"
    found = [(value.path, value.default, value.description) for value in described_values(text)]
    assert found == [(("a",), 1, "One, in two lines."), (("b", "c"), {}, "Inner."), (("d",), [], "")]
