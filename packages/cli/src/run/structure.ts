import { parseJson, type SchemaRules, type StructuredOptions } from '@quern/runtime';
import { type Command, Option } from 'commander';
import { list } from '../options.js';
import { readText } from '../read-text.js';

/** As parsed by commander. */
export interface StructureFlags {
  readonly schema?: string;
  readonly regex?: string;
  readonly choice?: readonly string[];
  readonly grammar?: string;
  readonly keyOrder?: 'schema' | 'any';
}

/** Options that say what the text must be. */
export const withStructure = (command: Command): Command =>
  command
    .option('--schema <file>', 'the answer is JSON that fits the JSON schema in this file')
    .option('--regex <pattern>', 'the answer is matched by this pattern')
    .option('--choice <text>', 'the answer is one of these texts; may be repeated', list)
    .option('--grammar <file>', 'the answer is derived from the GBNF grammar in this file')
    .addOption(
      new Option('--key-order <order>', "keys of JSON objects in the schema's order, or in any").choices([
        'schema',
        'any',
      ]),
    );

/** Ends the program where a file is not JSON. Rejects where a file cannot be read. */
export async function readStructure(
  { schema, regex, choice, grammar, keyOrder }: StructureFlags,
  command: Command,
): Promise<StructuredOptions & SchemaRules> {
  return {
    ...(schema !== undefined && { schema: parseSchema(await readText(schema), schema, command) }),
    ...(regex !== undefined && { regex }),
    ...(choice !== undefined && { choices: choice }),
    ...(grammar !== undefined && { grammar: await readText(grammar) }),
    ...(keyOrder !== undefined && { keyOrder }),
  };
}

function parseSchema(text: string, path: string, command: Command): Record<string, unknown> {
  try {
    return parseJson(text) as Record<string, unknown>;
  } catch (error) {
    return command.error(`error: ${path} is not JSON: ${(error as Error).message}`);
  }
}
