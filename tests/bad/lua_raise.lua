return function(sample) error({ 1 }) end
