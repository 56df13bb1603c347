# One image for every role: ROLE chooses. Built once, so the roles of a deployment never differ in version.
FROM node:24-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# The embedded Postgres is for machines without one; it has no place in an image.
RUN npm ci --omit=optional --ignore-scripts
COPY tsconfig.json tsconfig.build.json ./
COPY src src
COPY migrations migrations
RUN npm run build

FROM node:24-bookworm-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --omit=optional --ignore-scripts

FROM node:24-bookworm-slim
# What a pass needs lives for some hundred milliseconds; in a larger young generation it is not copied twice on the way.
ENV NODE_ENV=production HOST=0.0.0.0 PORT=3000 NODE_OPTIONS=--max-semi-space-size=32
WORKDIR /app
COPY --from=dependencies /app/node_modules node_modules
COPY --from=build /app/dist dist
COPY package.json ./
USER node
EXPOSE 3000
# The exec form: signals reach the process itself, which then finishes what it has begun.
CMD ["node", "--no-parallel-scavenge", "."]
