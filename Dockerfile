# Two images:
#   docker build --target amqp-conformance -t amqp-conformance .
#   docker build --target reference-broker -t reference-broker .
# The suite; the gate's exit code is the container's. No Java is inside: `trace check` judges small inputs without.
#   mkdir -p report && docker run --rm --user "$(id -u):$(id -g)" -v "$PWD/report:/report" \
#     amqp-conformance run amqp://guest:guest@BROKER:5672/%2F --report /report
# The broker; guest may log in from its own host only, so name a user:
#   docker run --rm -p 5672:5672 reference-broker --user app:secret
# BASE is any image with Python 3.11 or newer and its venv module.
ARG BASE=python:3.13-slim

FROM ${BASE} AS build
WORKDIR /src
COPY pyproject.toml README.md LICENSE constraints.txt ./
COPY codec codec
COPY conformance conformance
COPY reference_broker reference_broker
COPY reports reports
RUN python3 -m venv /opt/suite
RUN /opt/suite/bin/pip install --no-cache-dir --constraint constraints.txt .

FROM ${BASE} AS both
COPY --from=build /opt/suite /opt/suite
ENV PATH=/opt/suite/bin:/usr/local/bin:/usr/bin:/bin HOME=/home/suite
RUN mkdir /home/suite && chmod 1777 /home/suite
WORKDIR /home/suite
USER 1000:1000

FROM both AS reference-broker
EXPOSE 5672
ENTRYPOINT ["reference-broker", "--host", "0.0.0.0"]

FROM both AS amqp-conformance
ENTRYPOINT ["amqp-conformance"]
CMD ["--help"]
