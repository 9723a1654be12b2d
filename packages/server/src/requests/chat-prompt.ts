import type { ChatMessage, EncodeChatOptions, Model, ToolOptions } from '@quern/runtime';
import { answerStartOf, type ChatRequest, chatRequest, messagesOf, needFitting } from './chat.js';
import { notSupported } from './fields.js';
import { toolOptions } from './tools.js';
import type { Notice } from './unread.js';

/** Fields of requests for the prompt of a chat: clients send what they send for an answer. */
export const chatPromptFields = { ...chatRequest.shape, chat_template: notSupported('chat_template') };

type Prompt = readonly [
  messages: ChatMessage[],
  options: Omit<EncodeChatOptions, 'tools'> & Pick<ToolOptions, 'tools'>,
];

/**
 * The messages and options of a chat's prompt, as an answer to it has them; `add_generation_prompt: false` alone leaves the
 * start of the answer out.
 * @throws ApiError 400
 */
export function chatPromptOf(body: ChatRequest, notice: Notice): Prompt {
  const answerStart = answerStartOf(body);
  const isBare = body.add_generation_prompt === false && answerStart === undefined;
  needFitting(isBare ? { ...body, add_generation_prompt: undefined } : body);
  const { tools, toolChoice } = toolOptions(body);
  const options = {
    ...(tools && toolChoice !== 'none' && { tools }),
    ...(body.chat_template_kwargs && { extra: body.chat_template_kwargs }),
    ...(isBare && { addGenerationPrompt: false }),
    ...(answerStart !== undefined && { answerStart }),
  };
  return [messagesOf(body, notice), options];
}

/** The token ids of a chat's prompt. Rejects with ApiError 400, and as `chatTokens` does. */
export const chatIds = async (body: ChatRequest, model: Model, notice: Notice): Promise<readonly number[]> =>
  model.chatTokens(...chatPromptOf(body, notice));
