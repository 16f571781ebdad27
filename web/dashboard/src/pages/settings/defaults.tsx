import {
  type Answer,
  readAccountDistribution,
  readAccountSecurity,
  readClusters,
  readMediaExpiration,
  readServer,
  updateAccountDistribution,
  updateAccountSecurity,
  updateDefaultCluster,
  updateMediaExpiration,
} from '#api/tokens.ts'
import { call } from '../../api/call.ts'
import { useLoad } from '../../api/load.ts'
import { ChipsField, NumberField, TextField, Toggle } from '../../parts/form.tsx'
import { settingsWords } from '../../words/settingsWords.ts'
import { words } from '../../words/words.ts'
import { checkCountry, checkWhole } from '../tokens/checks.ts'
import { type Countries, CountriesField } from '../tokens/countriesField.tsx'
import { errorOf } from '../tokens/tokenForm.ts'
import { DefaultsCard } from './defaultsCard.tsx'
import { SettingsFrame } from './tabs.tsx'

const text = settingsWords.defaults
const DAYS_MOST = 365

/** What the account says for its tokens and recordings. */
export const DefaultsPage = () => (
  <SettingsFrame path="/settings/defaults">
    <div class="cols half in-order">
      <CountriesCard />
      <div class="stack in-order">
        <RecordingsCard />
        <RegionCard />
        <DistributionCard />
      </div>
    </div>
  </SettingsFrame>
)

type Security = Answer<typeof readAccountSecurity>

function CountriesCard() {
  const server = useLoad((signal) => call(readServer, {}, { signal }), []).data
  return (
    <DefaultsCard<Security, Countries>
      title={words.tokens.form.countries}
      about={
        <>
          {text.countriesText} {server?.hasCountryDatabase === false && <b>{text.noDatabase}</b>}
        </>
      }
      read={(signal) => call(readAccountSecurity, {}, { signal })}
      write={(body) => call(updateAccountSecurity, { body })}
      sentence={countriesSentence}
      formOf={({ allowedCountries, deniedCountries }) =>
        deniedCountries.length > 0
          ? { countries: deniedCountries, countryRule: 'denied' }
          : { countries: allowedCountries, countryRule: 'allowed' }
      }
      valueOf={({ countries, countryRule }) =>
        countryRule === 'allowed'
          ? { allowedCountries: [...countries], deniedCountries: [] }
          : { allowedCountries: [], deniedCountries: [...countries] }
      }
      isWrong={({ countries }) => countries.some((one) => checkCountry(one) !== null)}
      fields={(form, onChange, errors) => (
        <CountriesField {...form} hint={text.countriesHint} errors={errors} onChange={onChange} />
      )}
    />
  )
}

function countriesSentence({ allowedCountries, deniedCountries }: Security): string {
  if (allowedCountries.length > 0) return text.onlyCountries(allowedCountries.join(', '))
  return deniedCountries.length > 0 ? text.notCountries(deniedCountries.join(', ')) : text.anyCountry
}

const RegionCard = () => (
  <DefaultsCard
    title={text.region}
    about={text.regionText}
    read={async (signal) => (await call(readClusters, {}, { signal })).defaultCluster}
    write={async (defaultCluster) => (await call(updateDefaultCluster, { body: { defaultCluster } })).defaultCluster}
    sentence={text.regionIs}
    formOf={(region) => ({ region })}
    valueOf={({ region }) => region.trim() || 'auto'}
    fields={({ region }, onChange, errors) => (
      <TextField
        label={text.regionName}
        hint={text.regionNameHint}
        maxLength={64}
        error={errors['defaultCluster']}
        value={region}
        onValue={(typed) => onChange({ region: typed })}
      />
    )}
  />
)

const DistributionCard = () => (
  <DefaultsCard
    title={text.distribution}
    about={text.distributionText}
    read={async (signal) => (await call(readAccountDistribution, {}, { signal })).geoCascade}
    write={async (geoCascade) => (await call(updateAccountDistribution, { body: { geoCascade } })).geoCascade}
    sentence={({ isEnabled, clusters }) => (isEnabled ? text.clustersAre(clusters.join(', ')) : text.cascadeOff)}
    formOf={(cascade) => cascade}
    valueOf={(cascade) => cascade}
    fields={({ isEnabled, clusters }, onChange, errors) => (
      <>
        <Toggle label={text.cascade} isOn={isEnabled} onChange={(isOn) => onChange({ isEnabled: isOn })} />
        {isEnabled && (
          <ChipsField
            label={text.clusters}
            placeholder="all"
            error={errorOf(errors, 'geoCascade.clusters', clusters)}
            values={clusters}
            onValues={(values) => onChange({ clusters: [...values] })}
          />
        )}
      </>
    )}
  />
)

const RecordingsCard = () => (
  <DefaultsCard
    title={words.frame.recordings}
    about={text.recordingsText}
    read={async (signal) => daysOf(await call(readMediaExpiration, {}, { signal }))}
    write={async (days) =>
      daysOf(await call(updateMediaExpiration, { body: { recordings: days === null ? null : { days } } }))
    }
    sentence={text.keptFor}
    formOf={(days) => ({ days: String(days ?? '') })}
    valueOf={({ days }) => (days.trim() === '' ? null : Number(days))}
    isWrong={({ days }) => checkWhole(days, 1, DAYS_MOST) !== null}
    fields={({ days }, onChange, errors) => (
      <NumberField
        label={text.days}
        hint={text.daysHint}
        problem={checkWhole(days, 1, DAYS_MOST)}
        error={errors['recordings.days']}
        isOptional
        unit={words.tokens.form.recordingDaysUnit}
        value={days}
        onValue={(typed) => onChange({ days: typed })}
      />
    )}
  />
)

/** Null: recordings stay. */
const daysOf = ({ recordings }: { readonly recordings: { readonly days: number } | null }): number | null =>
  recordings?.days ?? null
