import { useState } from 'preact/hooks'
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
import { DefaultsCard, SaveForm } from './defaultsCard.tsx'
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
    <DefaultsCard
      title={words.tokens.form.countries}
      about={
        <>
          {text.countriesText} {server?.hasCountryDatabase === false && <b>{text.noDatabase}</b>}
        </>
      }
      read={(signal) => call(readAccountSecurity, {}, { signal })}
      write={(body) => call(updateAccountSecurity, { body })}
      sentence={countriesSentence}
      form={(security, save) => <CountriesForm security={security} onSave={save} />}
    />
  )
}

function countriesSentence({ allowedCountries, deniedCountries }: Security): string {
  if (allowedCountries.length > 0) return text.onlyCountries(allowedCountries.join(', '))
  return deniedCountries.length > 0 ? text.notCountries(deniedCountries.join(', ')) : text.anyCountry
}

interface CountriesFormProps {
  readonly security: Security
  readonly onSave: (security: Security) => Promise<void>
}

function CountriesForm({ security: { allowedCountries, deniedCountries }, onSave }: CountriesFormProps) {
  const [form, setForm] = useState<Countries>(
    deniedCountries.length > 0
      ? { countries: deniedCountries, countryRule: 'denied' }
      : { countries: allowedCountries, countryRule: 'allowed' },
  )
  const countries = [...form.countries]
  const save = () =>
    onSave(
      form.countryRule === 'allowed'
        ? { allowedCountries: countries, deniedCountries: [] }
        : { allowedCountries: [], deniedCountries: countries },
    )
  return (
    <SaveForm
      of={words.tokens.form.countries}
      isWrong={countries.some((one) => checkCountry(one) !== null)}
      onSave={save}
    >
      {(errors) => (
        <CountriesField
          {...form}
          hint={text.countriesHint}
          errors={errors}
          onChange={(change) => setForm({ ...form, ...change })}
        />
      )}
    </SaveForm>
  )
}

const RegionCard = () => (
  <DefaultsCard
    title={text.region}
    about={text.regionText}
    read={async (signal) => (await call(readClusters, {}, { signal })).defaultCluster}
    write={async (defaultCluster) => (await call(updateDefaultCluster, { body: { defaultCluster } })).defaultCluster}
    sentence={text.regionIs}
    form={(region, save) => <RegionForm region={region} onSave={save} />}
  />
)

interface RegionFormProps {
  readonly region: string
  readonly onSave: (region: string) => Promise<void>
}

function RegionForm({ region, onSave }: RegionFormProps) {
  const [typed, setTyped] = useState(region)
  return (
    <SaveForm of={text.region} isWrong={false} onSave={() => onSave(typed.trim() || 'auto')}>
      {(errors) => (
        <TextField
          label={text.regionName}
          hint={text.regionNameHint}
          maxLength={64}
          error={errors['defaultCluster']}
          value={typed}
          onValue={setTyped}
        />
      )}
    </SaveForm>
  )
}

type Cascade = Answer<typeof readAccountDistribution>['geoCascade']

const DistributionCard = () => (
  <DefaultsCard
    title={text.distribution}
    about={text.distributionText}
    read={async (signal) => (await call(readAccountDistribution, {}, { signal })).geoCascade}
    write={async (geoCascade) => (await call(updateAccountDistribution, { body: { geoCascade } })).geoCascade}
    sentence={({ isEnabled, clusters }) => (isEnabled ? text.clustersAre(clusters.join(', ')) : text.cascadeOff)}
    form={(cascade, save) => <CascadeForm cascade={cascade} onSave={save} />}
  />
)

interface CascadeFormProps {
  readonly cascade: Cascade
  readonly onSave: (cascade: Cascade) => Promise<void>
}

function CascadeForm({ cascade, onSave }: CascadeFormProps) {
  const [{ isEnabled, clusters }, setForm] = useState(cascade)
  return (
    <SaveForm of={text.distribution} isWrong={false} onSave={() => onSave({ isEnabled, clusters })}>
      {(errors) => (
        <>
          <Toggle label={text.cascade} isOn={isEnabled} onChange={(isOn) => setForm({ isEnabled: isOn, clusters })} />
          {isEnabled && (
            <ChipsField
              label={text.clusters}
              placeholder="all"
              error={errorOf(errors, 'geoCascade.clusters', clusters)}
              values={clusters}
              onValues={(values) => setForm({ isEnabled, clusters: [...values] })}
            />
          )}
        </>
      )}
    </SaveForm>
  )
}

const RecordingsCard = () => (
  <DefaultsCard
    title={words.frame.recordings}
    about={text.recordingsText}
    read={async (signal) => daysOf(await call(readMediaExpiration, {}, { signal }))}
    write={async (days) =>
      daysOf(await call(updateMediaExpiration, { body: { recordings: days === null ? null : { days } } }))
    }
    sentence={text.keptFor}
    form={(days, save) => <DaysForm days={days} onSave={save} />}
  />
)

/** Null: recordings stay. */
const daysOf = ({ recordings }: { readonly recordings: { readonly days: number } | null }): number | null =>
  recordings?.days ?? null

interface DaysFormProps {
  readonly days: number | null
  readonly onSave: (days: number | null) => Promise<void>
}

function DaysForm({ days, onSave }: DaysFormProps) {
  const [typed, setTyped] = useState(String(days ?? ''))
  const problem = checkWhole(typed, 1, DAYS_MOST)
  return (
    <SaveForm
      of={words.frame.recordings}
      isWrong={problem !== null}
      onSave={() => onSave(typed.trim() === '' ? null : Number(typed))}
    >
      {(errors) => (
        <NumberField
          label={text.days}
          hint={text.daysHint}
          problem={problem}
          error={errors['recordings.days']}
          isOptional
          unit={words.tokens.form.recordingDaysUnit}
          value={typed}
          onValue={setTyped}
        />
      )}
    </SaveForm>
  )
}
