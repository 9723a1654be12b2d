import { existsSync } from 'node:fs';
import { builtinTemplates } from '@quern/runtime';
import type { Command } from 'commander';
import { readText } from '../read-text.js';

/** As parsed by commander. */
export interface TemplateFlags {
  readonly chatTemplate?: string;
  /** False with --no-thinking. */
  readonly thinking?: boolean;
}

export const withChatTemplate = (command: Command): Command =>
  command.option(
    '--chat-template <name|file>',
    `instead of the model's own: ${builtinTemplates.join(', ')}, or a file of Jinja`,
  );

/** Options of commands that chat. */
export const withTemplate = (command: Command): Command =>
  withChatTemplate(command).option('--no-thinking', 'do not show what the model thinks before it answers');

/** Replaces a template file's path by its content; builtin names stay. Ends the program if it is neither. */
export async function resolveTemplate<T extends TemplateFlags>(flags: T, command: Command): Promise<T> {
  const { chatTemplate: chosen } = flags;
  if (chosen === undefined || builtinTemplates.some((name) => name === chosen)) return flags;
  if (!existsSync(chosen))
    command.error(
      `error: --chat-template ${chosen} is neither a file nor one of ${builtinTemplates.join(', ')}`,
    );
  const chatTemplate = await readText(chosen);
  if (!chatTemplate.includes('{'))
    command.error(`error: --chat-template ${chosen} holds no Jinja: it has neither {{ nor {%`);
  return { ...flags, chatTemplate };
}
