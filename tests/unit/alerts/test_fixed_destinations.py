"""Nothing that a device reports chooses where a notification goes."""

import pytest
from pydantic import ValidationError

from alerts.config import AlertingConfig

HOOK = {"type": "webhook", "name": "hook", "url": "http://a"}


@pytest.mark.parametrize("name", ["{{ .domain }}", "${domain}", "{domain}", "$domain"])
def test_a_route_cannot_name_its_receiver_by_a_label(name):
    with pytest.raises(ValidationError, match="no receiver is called"):
        AlertingConfig.model_validate({"receivers": [HOOK], "routes": [{"receivers": [name]}]})
