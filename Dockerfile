# One image for every stage: non-root, nothing to write but /data.
FROM python:3.11-slim-bookworm AS build
WORKDIR /src
COPY requirements.lock pyproject.toml README.md LICENSE ./
RUN python -m venv /opt/fabricscope \
 && /opt/fabricscope/bin/pip install --no-cache-dir --require-hashes -r requirements.lock
COPY . .
RUN /opt/fabricscope/bin/pip install --no-cache-dir --no-deps --no-build-isolation .
# Not in /src: what is compiled belongs to the place of its source, and that is the one which was installed.
WORKDIR /
# Code for every x86-64 with AVX2, which polars needs as well, and not for the one that builds.
ENV NUMBA_CPU_NAME=x86-64-v3 NUMBA_CPU_FEATURES=
RUN for stage in ingest analytics simulator; do \
      NUMBA_CACHE_DIR=/opt/fabricscope/compiled /opt/fabricscope/bin/python -m "$stage.warm_up" || exit 1; \
    done

FROM python:3.11-slim-bookworm
COPY --from=build /opt/fabricscope /opt/fabricscope
RUN useradd --uid 10001 --no-create-home --shell /usr/sbin/nologin fabricscope \
 && install -d -o fabricscope /data
USER 10001
WORKDIR /data
# The root file system is read-only: numba keeps its compiled code with the data, and begins with what is built in.
ENV PATH=/opt/fabricscope/bin:$PATH PYTHONDONTWRITEBYTECODE=1 \
    NUMBA_CPU_NAME=x86-64-v3 NUMBA_CPU_FEATURES= \
    NUMBA_CACHE_DIR=/data/numba FABRICSCOPE_COMPILED=/opt/fabricscope/compiled
ENTRYPOINT ["fabricscope"]
CMD ["--help"]
