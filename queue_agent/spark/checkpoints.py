"""Settings by which Spark keeps checkpoints at `yt:///...`, through `queue-agent webhdfs`."""

from __future__ import annotations

from typing import Final

_MOUNTS: Final = "spark.hadoop.fs.viewfs.mounttable"
_NAME: Final = "yt"


def checkpoint_conf(address: str, prefix: str, *, tls: bool = False) -> dict[str, str]:
    """Settings for the builder of a session; they must be there before the session is.

    Args:
        address: `host:port` of the façade, as the ready line tells.
        prefix: what all paths there begin with: the secret; under `queue-agent local`, `SECRET/CLUSTER`.
        tls: whether something before the façade speaks TLS.
    """
    scheme, kind = ("swebhdfs", "SWebHdfsFileSystem") if tls else ("webhdfs", "WebHdfsFileSystem")
    return {
        "spark.hadoop.fs.yt.impl": "org.apache.hadoop.fs.viewfs.ViewFileSystemOverloadScheme",
        "spark.hadoop.fs.viewfs.overload.scheme.target.yt.impl": f"org.apache.hadoop.hdfs.web.{kind}",
        f"{_MOUNTS}.default.name.key": _NAME,
        f"{_MOUNTS}.{_NAME}.linkFallback": f"{scheme}://{address}/{prefix.strip('/')}",
    }
