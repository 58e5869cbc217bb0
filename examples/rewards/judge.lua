-- The question to the judge, and the verdict whose probability is the reward.
-- The judge of the example can only add, so it is asked for the sum, and the
-- verdict is the policy's own response. A judge that reads language gets
--
--     sample.prompt .. sample.response .. "\nIs this right? ", "yes"
return function(sample)
  return { question = sample.prompt, verdict = sample.response }
end
