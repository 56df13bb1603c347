/** The OpenAPI document: made from the very schemas that check requests and type answers. */
import type { INestApplication } from '@nestjs/common';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { z } from 'zod';
import { PatchDescription } from '../schemas/requests.js';

interface JsonSchema {
  [keyword: string]: unknown;
}

/** Schemas with an id become components; one that differs as input and as output gets two names. */
function convert(
  schema: z.ZodType,
  io: 'input' | 'output',
  defaults = true,
): { schema: JsonSchema; components: JsonSchema } {
  const {
    $schema: _version,
    $defs = {},
    ...root
  } = z.toJSONSchema(schema, {
    io,
    target: 'draft-2020-12',
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      // Left out by zod where an input is transformed, although they are examples of the input.
      const { examples } = z.globalRegistry.get(zodSchema) ?? {};
      if (Array.isArray(examples)) jsonSchema.examples = examples;
      // The format says it; the expression behind it is pages long.
      if (jsonSchema.format === 'date-time') delete jsonSchema.pattern;
      // Readers of documents know integers; the bounds of a double are noise.
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
      delete jsonSchema.id;
      if (!defaults) delete jsonSchema.default;
    },
  });
  return { schema: root, components: $defs };
}

const isZod = (schema: unknown): schema is z.ZodType => schema instanceof z.ZodType;

export function createDocument(app: INestApplication): OpenAPIObject {
  const config = new DocumentBuilder()
    .setOpenAPIVersion('3.1.0')
    .setTitle('Order reconciler')
    .setDescription(
      "Brings one order's money and stock to what is wanted. A 2xx answer means that the wish is stored, not that it is " +
        'done; `status` tells. Errors are RFC 9457 problems with a stable `code`.',
    )
    .setVersion('1')
    .addBearerAuth({ type: 'http', scheme: 'bearer', description: 'API key' }, 'api_key')
    .build();
  const document = SwaggerModule.createDocument(app, config, {
    operationIdFactory: (_controller, method) => method,
    standardSchemaConverter: (schema, { schemaType }) =>
      isZod(schema) ? convert(schema, schemaType) : undefined,
  });
  // A member that a patch does not name stays as it is: a default would say something else.
  const patch = convert(PatchDescription, 'input', false).components;
  document.components = {
    ...document.components,
    schemas: { ...document.components?.schemas, ...patch } as never,
  };
  return withMediaTypes(document);
}

/** Problems are sent as what they are, and a patch may say what it is. */
function withMediaTypes(document: OpenAPIObject): OpenAPIObject {
  for (const item of Object.values(document.paths)) {
    for (const operation of [item.get, item.post, item.patch, item.put]) {
      for (const [status, response] of Object.entries(operation?.responses ?? {})) {
        const content = response !== undefined && 'content' in response ? response.content : undefined;
        const problem = content?.['application/json'];
        if (content === undefined || problem === undefined || Number(status) < 400) continue;
        if (!JSON.stringify(problem).includes('schemas/Problem')) continue;
        content['application/problem+json'] = problem;
        delete content['application/json'];
      }
    }
    const body = item.patch?.requestBody;
    const json = body !== undefined && 'content' in body ? body.content['application/json'] : undefined;
    if (body !== undefined && 'content' in body && json !== undefined)
      body.content['application/merge-patch+json'] = json;
  }
  return document;
}
