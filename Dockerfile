# One image for the site (TORCH=0) and one for its workers (TORCH=1): see docs/deploying.md.
FROM python:3.11-slim-trixie

# make sets up what requirements.txt pins; pg_dump and pg_restore make backups of PostgreSQL up to 17
RUN apt-get update \
    && apt-get install --yes --no-install-recommends make postgresql-client \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home --uid 1000 prove \
    && install --directory --owner=prove --group=prove /app /data
USER prove
WORKDIR /app

# TORCH=0 leaves out the trainer's packages. TORCH_INDEX is where torch comes from: name an index of CPU builds, or of
# builds for your CUDA version; without it, it is the one that pip is set up for.
ARG TORCH=1
ARG TORCH_INDEX
COPY --chown=prove .ci .ci
COPY --chown=prove Makefile requirements.txt ./
RUN make setup PYTHON=python3.11 TORCH="$TORCH" TORCH_INDEX="$TORCH_INDEX" && rm -rf ~/.cache

COPY --chown=prove . .
ENV PATH=/app/.venv/bin:$PATH PROVE_DATA=/data PYTHONUNBUFFERED=1
VOLUME /data
EXPOSE 8000 8765
ENTRYPOINT ["python", "manage.py"]
CMD ["serve", "--host", "0.0.0.0"]
