return function(sample) return sample.length end
