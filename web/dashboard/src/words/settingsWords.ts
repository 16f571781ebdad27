import { settingsEn } from './settingsEn.ts'
import { inLanguage } from './words.ts'

/** The words of the settings of the server and its nodes, apart from `words` so that the first page loads without them. */
export const settingsWords = await inLanguage(settingsEn, {
  de: () => import('./settingsDe.ts').then(({ settingsDe }) => settingsDe),
})
