// An answer that fits a Zod schema: node structured.js [MODEL].
import { loadModel } from '@quern/runtime';
import { z } from 'zod';

const Review = z.object({
  mood: z.enum(['glad', 'neutral', 'angry']),
  stars: z.int().min(1).max(5),
});

const model = await loadModel(process.argv[2] ?? 'demo');
const question = 'As JSON, the mood and the stars of this review: "Best bread in the village!"';
const { value, reason } = await model.chat([{ role: 'user', content: question }], {
  schema: Review, // tokens that do not fit are never chosen
  temperature: 0,
  maxTokens: 100,
}).result;

if (value) console.log(value.mood, value.stars);
else console.error(`the answer was cut: ${reason}`);
model.dispose();
