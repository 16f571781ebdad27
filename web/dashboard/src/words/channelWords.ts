import { channelEn } from './channelEn.ts'
import { inLanguage } from './words.ts'

/** The words of channels and of their webhooks, apart from `words` so that the first page loads without them. */
export const channelWords = await inLanguage(channelEn, {
  de: () => import('./channelDe.ts').then(({ channelDe }) => channelDe),
})
