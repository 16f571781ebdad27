import type { NoticeSentence } from './noticeSentences.ts'
import { isolated } from './complete.ts'
import { ownWords, shownDate } from './words.ts'

type Say = (text: string, sentences: readonly NoticeSentence[]) => string | undefined

const say = await ownWords<Say>({
  de: async () => {
    const [{ sayIn }, { noticesDe }, { sayRefusalIn }, { mediaProblemsDe }] = await Promise.all([
      import('./noticeSentences.ts'),
      import('./noticesDe.ts'),
      import('./refusalSentences.ts'),
      import('./mediaProblemsDe.ts'),
    ])
    const sayText = sayRefusalIn(mediaProblemsDe)
    return (text, sentences) => (sentences.length === 0 ? sayText(text) : sayIn(noticesDe, sentences, sayText))
  },
})

/** What the server says, in the language of the page; `text`, its own words, where that lacks a sentence. */
export const noticeWords = (text: string, sentences: readonly NoticeSentence[] = []): string =>
  say?.(text, sentences) || sentences.reduce(withShownValues, text)

/** Names keep the direction of their text, and a date is as the pages show others: `2026-12-02` breaks at its hyphens, too. */
const withShownValues = (text: string, { values }: NoticeSentence): string =>
  Object.entries(values).reduce((said, [name, value]) => {
    if (typeof value !== 'string') return said
    return said.replace(value, () => (name === 'date' ? shownDate(value) : isolated(value)))
  }, text)
