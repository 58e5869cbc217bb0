return function(sample) return sample.lenght + end
