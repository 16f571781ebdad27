import { type Distribution, updateDistribution } from '#api/channels.ts'
import { distributionAddress, ownAddresses } from '../../addresses.ts'
import { call } from '../../api/call.ts'
import { CopyField } from '../../parts/copy.tsx'
import { Toggle } from '../../parts/form.tsx'
import { Icon } from '../../parts/icon.tsx'
import { State } from '../../parts/state.tsx'
import { orToast } from '../../parts/toast.tsx'
import { count } from '../../parts/values.tsx'
import { canChange } from '../../session.ts'
import { channelWords } from '../../words/channelWords.ts'
import { words } from '../../words/words.ts'
import { Security } from './security.tsx'
import { ViewerKeys } from './viewerKeys.tsx'
import { Watch } from './watch.tsx'

const text = channelWords.channel

interface DistributionCardProps {
  readonly distribution: Distribution
  readonly viewers: number
  readonly onChanged: () => Promise<void>
}

/** Where viewers get a channel, and which of them. */
export function DistributionCard({ distribution, viewers, onChanged }: DistributionCardProps) {
  const { id, name, enabled, security } = distribution
  const toggle = async (isOn: boolean): Promise<void> => {
    await call(updateDistribution, { path: { distributionId: id }, body: { enabled: isOn } })
    await onChanged()
  }
  return (
    <div class="card">
      <div class="pad stack gap-s">
        <div class="title">
          <h3>{name}</h3>
          <State kind={enabled ? 'ok' : 'off'}>{enabled ? text.on : text.off}</State>
        </div>
        <CopyField label="HLS" what={`HLS ${name}`} value={distributionAddress(ownAddresses(), id)} />
        <Rules security={security} />
        {(canChange() || security.tokenRequired) && <ViewerKeys distribution={distribution} onChanged={onChanged} />}
        {canChange() && (
          <Toggle
            label={text.enabled}
            of={name}
            note={text.enabledNote}
            isOn={enabled}
            onChange={(isOn) => orToast(toggle(isOn))}
          />
        )}
      </div>
      <div class="card-foot">
        <Watch distribution={distribution} />
        {canChange() && <Security distribution={distribution} onChanged={onChanged} />}
        <span class="end num actions" title={text.watching(count(viewers))}>
          <Icon name="viewers" isSmall /> {count(viewers)}
          <span class="sr"> {words.overview.viewersWord}</span>
        </span>
      </div>
    </div>
  )
}

/** The rules as short tags, so that the card says who may watch. */
function Rules({ security }: Pick<Distribution, 'security'>) {
  const { geoBlocking, ipBlocking, refererBlocking, tokenRequired, keys } = security
  const rules = [
    geoBlocking.enabled ? text.countryRule(geoBlocking.mode, geoBlocking.countries.join(', ')) : '',
    ipBlocking.enabled ? text.addressRule(ipBlocking.mode, ipBlocking.cidrs.join(', ')) : '',
    refererBlocking.enabled ? text.siteRule(refererBlocking.allowedDomains.join(', ')) : '',
  ].filter(Boolean)
  return (
    <div class="tags">
      <span class="tag">
        <Icon name={tokenRequired ? 'locked' : 'unlocked'} isSmall />
        {tokenRequired ? text.keys(keys.length) : text.open}
      </span>
      {rules.map((rule) => (
        <span key={rule} class="tag">
          {rule}
        </span>
      ))}
    </div>
  )
}
