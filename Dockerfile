# One image for every stage: non-root, nothing to write but /data.
FROM python:3.11-slim-bookworm AS build
WORKDIR /src
COPY requirements.lock pyproject.toml README.md LICENSE ./
RUN python -m venv /opt/fabricscope \
 && /opt/fabricscope/bin/pip install --no-cache-dir --require-hashes -r requirements.lock
COPY . .
RUN /opt/fabricscope/bin/pip install --no-cache-dir --no-deps --no-build-isolation .

FROM python:3.11-slim-bookworm
COPY --from=build /opt/fabricscope /opt/fabricscope
RUN useradd --uid 10001 --no-create-home --shell /usr/sbin/nologin fabricscope \
 && install -d -o fabricscope /data
USER 10001
WORKDIR /data
# The root file system is read-only: numba keeps its compiled code with the data.
ENV PATH=/opt/fabricscope/bin:$PATH NUMBA_CACHE_DIR=/data/numba PYTHONDONTWRITEBYTECODE=1
ENTRYPOINT ["fabricscope"]
CMD ["--help"]
